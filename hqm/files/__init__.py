"""Files as they lie on disk: records, pictures in folders, zips, parquet files or on the web, and
their checksums.
"""
