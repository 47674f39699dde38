/** The steps of the guide. Callers without the tool that a step needs do not get the step. */
const STEPS: readonly { needs: string | null; text: string }[] = [
  {
    needs: null,
    text: 'Call mcp__initialise once. Pass its session_handle to every other tool.',
  },
  {
    needs: 'search_registry',
    text: 'Call search_registry when you know what you need but not where it is. It finds agents, skills, files, MCP servers and tools.',
  },
  {
    needs: 'get_skill',
    text: 'Read a skill with get_skill before you do a task that it describes, and its other files with read_skill_file.',
  },
  {
    needs: 'call_mcp_tool',
    text: 'To use a tool of a registered MCP server, find it with list_mcp_tools, read its arguments with get_mcp_tool, then run it with call_mcp_tool.',
  },
  {
    needs: 'start_scoring_run',
    text: 'To evaluate, call list_scorers, then start_scoring_run, then get_scoring_run until run_status is succeeded or failed.',
  },
];

/**
 * Returns the guide for models, which `initialize` and `mcp__initialise` return.
 *
 * @param tools the names of the caller's tools
 */
export function instructionsFor(tools: ReadonlySet<string>): string {
  const steps = STEPS.filter(({ needs }) => needs === null || tools.has(needs));
  return [
    'This is a registry of AI agents, skills, files and MCP servers, with a store and evaluations.',
    ...steps.map(({ text }, i) => `${i + 1}. ${text}`),
    'Lists return next_cursor, long texts next_offset, and lists within a result next_list_offset. Pass these back as cursor, offset or list_offset to continue.',
  ].join('\n');
}
