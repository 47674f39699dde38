/** The guide that the server gives to models, with `initialize` and with `mcp__initialise`. */
export const INSTRUCTIONS = [
  'This is a registry of AI agents, skills, files and MCP servers, with a store and evaluations.',
  '1. Call mcp__initialise once. Pass its session_handle to every other tool.',
  '2. Call search_registry when you know what you need but not where it is. It finds agents, skills, files, MCP servers and tools.',
  '3. Read a skill with get_skill before you do a task that it describes, and its other files with read_skill_file.',
  '4. To use a tool of a registered MCP server, find it with search_registry or list_mcp_tools, read its arguments with get_mcp_tool, then run it with call_mcp_tool.',
  '5. To evaluate, call list_scorers, then start_scoring_run, then get_scoring_run until run_status is succeeded or failed.',
  'Lists return next_cursor, and long texts next_offset. Pass it back as cursor or offset to continue.',
].join('\n');
