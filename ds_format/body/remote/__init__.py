"""Files that are elsewhere. A reader takes their `Body`, as it does of a local file.

listing      files below an address, and those that match a pattern
addresses    what the user names → an address; opening it
blocks       blocks that are kept, for libraries that read many small ranges
handed       file objects and buffers
fetching     the body of a remote file: ranges, merged and requested side by side
web          web servers, by urllib3
responses    an answer of a web server, read within limits
sessions     connections, cookies and credentials for web servers
connections  what urllib3 gets: connections that end requests in time
urls         addresses of web servers, parsed once
objects      buckets, by obstore, and stores of other libraries with the same interface
filesystems  everything else, by fsspec
uploads      finished local files → files in buckets, file systems and file objects
stores       what these three have in common: verbs, errors, secrets that messages leave out
settings     how ranges are requested

A store has two verbs: the first bytes with size and version of the file, and a range. Libraries are imported for the
first address that needs them.
"""
