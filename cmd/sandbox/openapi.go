package main

import (
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox/operation"
)

func newOpenAPI() *cobra.Command {
	var v2 bool
	c := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI 3.1 document of the served API",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := c.OutOrStdout().Write(operation.Document(v2)); err != nil {
				return cli.Fail(cli.ExitFailed, err, "the output is incomplete")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&v2, "v2", false, "document the deprecated v2 API instead of v3")
	return c
}
