"""Files: Parquet without SQL, and the one door to DuckDB."""
