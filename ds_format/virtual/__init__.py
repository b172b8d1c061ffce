"""Files as virtual Zarr: references to their bytes, which xarray, zarr and other programs read without this package.

From low to high::

    codec     the codec for masks, bits and text of ds files: bytes of a chunk → bytes of an array
    chunks    a variable of one file → positions of its chunks, or its values
    arrays    the chunks of a variable in one file, or in many → one array of Zarr
    datasets  files → attributes and arrays, along a dimension
    kerchunk  these → Kerchunk references
    writing   files of references: JSON, or a folder of Parquet files

No other folder imports numcodecs for Zarr, and none imports VirtualiZarr.
"""
