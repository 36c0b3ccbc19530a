// Package columnar converts rows into the columns of Parquet files, and the rows of such files into
// rows of the current tables. It has the schema of a file ([ParquetSchema]), its columns while they
// are written ([Vectors]) with the bounds of their pages, and a reader of rows ([RowReader]) for
// the files of every version.
//
// It depends on the declarations of columns only, not on calls. It opens no file.
package columnar
