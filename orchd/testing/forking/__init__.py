"""Server processes as forks of one process that has imported the server, and what makes its imports cheap."""
