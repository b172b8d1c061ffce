"""The module that pickled handles of version 0.2.0 and before name: loading one ends here, with the reason."""

message = "it was pickled by ds_format 0.2.0 or before: open the file again with this version"
raise ImportError(message, name=__name__)
