import type { SearchDocument } from '../../registry';
import type { AgentEntity } from './agent.entity';

/** What people call it. */
export const AGENT = 'agent';

/** Members whose values the audit log tells. */
export const TOLD = [
  'display_name',
  'model',
  'tools',
  'skills',
  'required_permissions',
  'max_step_count',
  'sync_state',
] as const;

/** An agent, as the audit log names it. */
export const audited = (row: Pick<AgentEntity, 'agent_id' | 'workspace_id'>) => ({
  type: 'agent' as const,
  id: row.agent_id,
  workspaceId: row.workspace_id,
});

/** An agent, as it is found. */
export const found = (row: AgentEntity): SearchDocument => ({
  type: 'agent',
  id: row.agent_id,
  workspaceId: row.workspace_id,
  name: row.name,
  description: [row.display_name, row.description].filter((text) => text !== null).join('. ') || null,
  body: [row.model ?? '', row.instructions].join('\n'),
  updatedAt: row.updated_at,
});
