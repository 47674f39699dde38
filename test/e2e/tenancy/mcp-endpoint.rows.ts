import type { Ids } from './population';
import { OWN, type Row } from './row.fixture';

const message = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

const call = (name: string, args: object) => message('tools/call', { name, arguments: args });

/** Returns calls to every tool with ids of the tenant, except store items, because they belong to the organization. */
const toolCalls = (theirs: Ids): [tool: string, args: object][] => [
  ['search_registry', { query: theirs.marker }],
  ['list_agents', {}],
  ['get_agent', { agent_id: theirs.agent_id }],
  ['list_skills', {}],
  ['get_skill', { skill_id: theirs.skill_id }],
  ['get_skill', { skill_id: theirs.skill_id, version_ordinal: 1 }],
  ['read_skill_file', { skill_id: theirs.skill_id, path: 'SKILL.md' }],
  ['list_files', {}],
  ['read_file', { file_id: theirs.file_id }],
  ['read_file', { file_id: theirs.file_id, version_ordinal: 1 }],
  ['list_mcp_servers', {}],
  ['list_mcp_tools', { server_id: theirs.server_id }],
  ['get_mcp_tool', { tool_id: theirs.tool_id }],
  ['call_mcp_tool', { tool_id: theirs.tool_id }],
  ['call_mcp_tool', { server_id: theirs.server_id, tool_name: `${theirs.marker}_tool` }],
  ['list_datasets', {}],
  ['list_experiments', { dataset_id: theirs.dataset_id }],
  ['get_experiment', { experiment_id: theirs.experiment_id }],
  ['list_scorers', {}],
  ['start_scoring_run', { scorer_id: theirs.scorer_id, trace_ids: [theirs.trace_id] }],
  ['get_scoring_run', { score_run_id: theirs.score_run_id ?? 'run_x' }],
];

/** Returns requests for resources and prompts that contain ids of the tenant, or list what the caller may read. */
const otherRequests = (theirs: Ids): object[] => {
  const directory = `skill://${theirs.skill_id}/${theirs.marker}-skill`;
  const complete = (name: string, argument: string): object => {
    // only the beginning of the marker, because the response repeats it
    const value = theirs.marker!.slice(0, 4);
    return message('completion/complete', {
      ref: { type: 'ref/prompt', name },
      argument: { name: argument, value },
    });
  };
  const prompt = (name: string, args: object): object => message('prompts/get', { name, arguments: args });
  return [
    prompt('use_skill', { skill: theirs.skill_id }),
    prompt('use_skill', { skill: `${theirs.marker}-skill` }),
    prompt('act_as_agent', { agent: theirs.agent_id }),
    prompt('act_as_agent', { agent: `${theirs.marker} agent` }),
    complete('use_skill', 'skill'),
    complete('act_as_agent', 'agent'),
    message('skills/list', {}),
    message('skills/get', { uri: `${directory}/SKILL.md` }),
    message('resources/list', {}),
    message('resources/read', { uri: `${directory}/SKILL.md` }),
    message('resources/read', { uri: `registry://files/${theirs.file_id}` }),
    message('resources/directory/read', { uri: directory }),
  ];
};

/** The MCP endpoint: every tool within the tenant's workspace and within the caller's own, resources and prompts. */
export const MCP_ENDPOINT_ROWS: Readonly<Record<string, Row>> = {
  'POST /mcp': {
    bodies: (theirs, own) => [
      call('mcp__initialise', { workspace_id: theirs.workspace_id }),
      ...toolCalls(theirs).flatMap(([tool, args]) =>
        [theirs, own].map(({ workspace_id }) => call(tool, { workspace_id, ...args })),
      ),
      ...otherRequests(theirs),
    ],
  },
  'GET /.well-known/oauth-authorization-server': OWN,
  'GET /.well-known/oauth-protected-resource': OWN,
  'GET /.well-known/oauth-protected-resource/mcp': OWN,
};
