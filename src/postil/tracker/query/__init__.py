"""The filter language: three ways to write a question, one tree, one SQL condition."""
