// Package columnar converts rows into the columns of Parquet files, and the rows of such files into
// rows of the current tables. It has the schema of a file ([ParquetSchema]), a writer ([Writer])
// and a reader of rows ([RowReader]) for the files of every version. The encodings of values, the
// footer's structures and their serialisation come from the library.
//
// It depends only on the declarations of columns, not on calls. It opens no file.
package columnar
