// Package columnar turns rows into the columns of Parquet files, and the rows of such
// files into those of today's tables: the schema of a file ([ParquetSchema]), its
// columns in the making ([Vectors]) with the bounds of their pages, and its rows as they
// are read ([RowReader]), whichever version wrote them.
//
// It knows what is declared, and no calls. It opens no file.
package columnar
