import type { ApiClient } from '#testing';

let made = 0;

/** Registers an MCP server that offers these tools. @returns its id */
export async function registerServer(
  by: ApiClient,
  workspace_id: string,
  tools: string[],
  name = `server-${(made += 1)}`,
): Promise<string> {
  const answer = await by.post<{ server_id: string }>('/mcp/v1/servers', {
    workspace_id,
    name,
    url: 'https://mcp.example.com/mcp',
    tools: tools.map((tool) => ({ name: tool, input_schema: { type: 'object' } })),
  });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.server_id;
}

/** Creates a skill with one version. @returns its id */
export async function registerSkill(
  by: ApiClient,
  workspace_id: string,
  name = `skill-${(made += 1)}`,
): Promise<string> {
  const answer = await by.post<{ skill_id: string }>('/skill/v1/skills', {
    workspace_id,
    name,
    description: 'Does what skills do.',
    instructions: 'Do it.',
  });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.skill_id;
}
