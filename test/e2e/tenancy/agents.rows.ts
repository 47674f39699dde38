import type { Ids } from './population';
import { filteredBy, inWorkspace, NOTHING, ofWorkspace, type Row } from './row.fixture';

const SERVER_JSON = {
  name: 'com.example/x',
  description: 'x',
  version: '1.0.0',
  remotes: [{ type: 'sse', url: 'https://x.example.com' }],
};

const ofRegistry = (theirs: Ids): string[] => [
  ...filteredBy('workspace_id')(theirs).filter((query) => query !== 'limit=0'),
  `search=${theirs.marker}`,
  'updated_since=2020-01-01T00:00:00Z',
];

/** Skills, MCP servers, agents and their sessions. */
export const AGENTS_ROWS: Readonly<Record<string, Row>> = {
  'POST /skill/v1/skills': {
    bodies: inWorkspace({ name: 'x', description: 'x', instructions: 'x' }),
  },
  'GET /skill/v1/skills': { queries: ofWorkspace() },
  'GET /skill/v1/skills/{skill_id}': NOTHING,
  'PATCH /skill/v1/skills/{skill_id}': { bodies: () => [{ description: 'taken over' }] },
  'POST /skill/v1/skills/{skill_id}/archive': NOTHING,
  'POST /skill/v1/skills/{skill_id}/restore': NOTHING,
  'DELETE /skill/v1/skills/{skill_id}': NOTHING,
  'PUT /skill/v1/skills/{skill_id}/labels/{label}': { bodies: () => [{ version_ordinal: 1 }] },
  'DELETE /skill/v1/skills/{skill_id}/labels/{label}': NOTHING,
  'DELETE /skill/v1/skills/{skill_id}/versions/{version_ordinal}': NOTHING,
  'POST /skill/v1/skills/{skill_id}/versions': {
    bodies: () => [{ description: 'x', instructions: 'taken over' }],
  },
  'GET /skill/v1/skills/{skill_id}/versions': NOTHING,
  'GET /skill/v1/skills/{skill_id}/versions/{version_ordinal}': NOTHING,
  'GET /skill/v1/skills/{skill_id}/versions/{version_ordinal}/content': NOTHING,
  'GET /skill/v1/skills/{skill_id}/versions/{version_ordinal}/skill.zip': NOTHING,
  'GET /skill/v1/skills/{skill_id}/versions/{version_ordinal}/SKILL.md': NOTHING,
  'GET /skill/v1/index.json': { queries: filteredBy('workspace_id') },

  'POST /mcp/v1/servers': { bodies: inWorkspace({ name: 'x', url: 'https://x.example.com' }) },
  'GET /mcp/v1/servers': { queries: ofWorkspace() },
  'GET /mcp/v1/servers/{server_id}': NOTHING,
  'PATCH /mcp/v1/servers/{server_id}': { bodies: () => [{ url: 'https://x.example.com' }] },
  'POST /mcp/v1/servers/{server_id}/archive': NOTHING,
  'POST /mcp/v1/servers/{server_id}/restore': NOTHING,
  'DELETE /mcp/v1/servers/{server_id}': NOTHING,
  'DELETE /mcp/v1/servers/{server_id}/versions/{version_ordinal}': NOTHING,
  'POST /mcp/v1/servers/{server_id}/test': NOTHING,
  'POST /mcp/v1/servers/{server_id}/refresh': NOTHING,
  'GET /mcp/v1/servers/{server_id}/checks': NOTHING,
  'GET /mcp/v1/servers/{server_id}/versions': NOTHING,
  'GET /mcp/v1/servers/{server_id}/versions/{version_ordinal}': NOTHING,
  'GET /mcp/v1/servers/{server_id}/tools': NOTHING,
  'GET /mcp/v1/servers/{server_id}/tools/{tool_id}': NOTHING,
  'GET /mcp/v1/servers/{server_id}/tools/{tool_id}/versions': NOTHING,
  'GET /mcp/v1/servers/{server_id}/tools/{tool_id}/versions/{version_ordinal}': NOTHING,
  'GET /mcp/v1/servers/{server_id}/tools/{tool_id}/versions/{version_from}..{version_to}': NOTHING,
  'POST /mcp/v1/servers/import': { bodies: inWorkspace({ server: SERVER_JSON }) },
  'GET /mcp/v1/registry/v0/servers': { queries: ofRegistry },
  'GET /mcp/v1/registry/v0/servers/{server_name}/versions': NOTHING,
  'GET /mcp/v1/registry/v0/servers/{server_name}/versions/{version_name}': NOTHING,
  'GET /mcp/v1/registry/v0.1/servers': { queries: ofRegistry },
  'GET /mcp/v1/registry/v0.1/servers/{server_name}/versions': NOTHING,
  'GET /mcp/v1/registry/v0.1/servers/{server_name}/versions/{version_name}': NOTHING,

  'POST /agent/v1/agents': {
    bodies: (theirs, own) => [
      { workspace_id: theirs.workspace_id, name: 'x' },
      { workspace_id: own.workspace_id, name: 'x', skills: [{ skill_id: theirs.skill_id }] },
      {
        workspace_id: own.workspace_id,
        name: 'x',
        tools: [{ server_id: theirs.server_id, tool_name: `${theirs.marker}_tool` }],
      },
    ],
  },
  'GET /agent/v1/agents': {
    queries: (theirs) => [...ofWorkspace('app')(theirs), `name=${theirs.marker} agent`],
  },
  'GET /agent/v1/agents/{agent_id}': NOTHING,
  'GET /agent/v1/agents/{agent_id}/card': NOTHING,
  'PATCH /agent/v1/agents/{agent_id}': { bodies: () => [{ instructions: 'taken over' }] },
  'POST /agent/v1/agents/{agent_id}/archive': NOTHING,
  'POST /agent/v1/agents/{agent_id}/restore': NOTHING,
  'DELETE /agent/v1/agents/{agent_id}': NOTHING,
  'PUT /agent/v1/agents/{agent_id}/labels/{label}': { bodies: () => [{ version_ordinal: 1 }] },
  'DELETE /agent/v1/agents/{agent_id}/labels/{label}': NOTHING,
  'DELETE /agent/v1/agents/{agent_id}/versions/{version_ordinal}': NOTHING,
  'GET /agent/v1/agents/{agent_id}/versions': NOTHING,
  'GET /agent/v1/agents/{agent_id}/versions/{version_ordinal}': NOTHING,
  'POST /agent/v1/agents/{agent_id}/sessions': { bodies: () => [{ prompt: 'x' }] },
  'GET /agent/v1/sessions': { queries: filteredBy('workspace_id', 'agent_id') },
  'GET /agent/v1/sessions/{session_id}': NOTHING,
  'PATCH /agent/v1/sessions/{session_id}': { bodies: () => [{ title: 'taken over' }] },
  'POST /agent/v1/sessions/{session_id}/archive': NOTHING,
  'POST /agent/v1/sessions/{session_id}/restore': NOTHING,
  'DELETE /agent/v1/sessions/{session_id}': NOTHING,
  'DELETE /agent/v1/sessions/{session_id}/messages/{message_id}': NOTHING,
  'GET /agent/v1/sessions/{session_id}/traces': NOTHING,
  'POST /agent/v1/sessions/{session_id}/messages': { bodies: () => [{ role: 'user', content: 'x' }] },
  'GET /agent/v1/sessions/{session_id}/messages': NOTHING,
  'GET /agent/v1/sessions/{session_id}/messages/{message_id}': NOTHING,
};
