import type { AgentDto, AgentVersionDto } from './agent.dto';
import type { AgentContent, AgentEntity, AgentVersionRow } from './agent.entity';

export const toAgentDto = (row: AgentEntity): AgentDto => ({
  agent_id: row.agent_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  ...toContent(row),
  app: row.app,
  sync_state: row.sync_state,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});

export const toAgentVersionDto = (row: AgentVersionRow): AgentVersionDto => ({
  agent_id: row.agent_id,
  workspace_id: row.workspace_id,
  ...toContent(row),
  created_at: row.created_at,
  created_by: row.created_by,
});

const toContent = (
  row: AgentContent & Pick<AgentEntity, 'name' | 'version_id' | 'version_ordinal'>,
): Omit<AgentVersionDto, 'agent_id' | 'workspace_id' | 'created_at' | 'created_by'> => ({
  name: row.name,
  display_name: row.display_name,
  description: row.description,
  model: row.model,
  instructions: row.instructions,
  tools: row.tools.map(({ server_id, tool_name }) => ({ server_id, tool_name })),
  skills: row.skills.map(({ skill_id, version_ordinal }) => ({ skill_id, version_ordinal })),
  required_permissions: row.required_permissions,
  max_step_count: row.max_step_count,
  metadata: row.metadata,
  version_ordinal: row.version_ordinal,
  version_id: row.version_id,
});
