import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, sql, type Tx } from '#platform/db';
import { storedJson } from '#platform/json';
import { type ComparedRow, OwnedRepository } from '../../resources';
import {
  type AgentContent,
  AgentEntity,
  type AgentSkill,
  type AgentTool,
  type AgentVersionRow,
  CONTENT_FIELDS,
} from './agent.entity';

/** The columns of an agent that a reconcile reads. */
export interface ComparedAgent extends ComparedRow {
  /** SHA-256 of the content, which may be large, in hexadecimal. */
  content_sha256: string;
}

const isJson = (member: string): member is 'metadata' | 'card' => member === 'metadata' || member === 'card';

const DIGEST_COLUMNS = CONTENT_FIELDS.map((member) => (isJson(member) ? `${member}::text` : member));

@Injectable()
export class AgentRepository extends OwnedRepository<AgentEntity, AgentVersionRow> {
  constructor(database: Database) {
    super(database, AgentEntity, {
      table: 'agents',
      versions: 'agent_versions',
      id: 'agent_id',
      content: CONTENT_FIELDS,
      others: ['labels'],
      compared: `encode(sha256(convert_to(jsonb_build_array(${DIGEST_COLUMNS.join(', ')})::text, 'UTF8')), 'hex')
        AS content_sha256`,
    });
  }

  /** Finds live agents with such a skill or tool. */
  async findUsing(
    tx: Tx,
    scope: OrgScope,
    { skill, tool }: { skill?: Partial<AgentSkill>; tool?: Partial<AgentTool> },
    limit: number,
  ): Promise<string[]> {
    const uses = skill
      ? sql`skills @> ${JSON.stringify([skill])}::jsonb`
      : sql`tools @> ${JSON.stringify([tool])}::jsonb`;
    const rows = await tx.query<{ agent_id: string }>(
      sql`SELECT agent_id FROM agents WHERE ${uses} AND org_id = ${scope.orgId} AND archived_at IS NULL LIMIT ${limit}`,
    );
    return rows.map(({ agent_id }) => agent_id);
  }

  /** Returns the tools of a live agent, or null. */
  async declaredTools(scope: OrgScope, id: string): Promise<AgentEntity['tools'] | null> {
    const [row] = await this.database.query<Pick<AgentEntity, 'tools'>>(
      sql`SELECT tools FROM agents WHERE agent_id = ${id} AND org_id = ${scope.orgId} AND archived_at IS NULL`,
    );
    return row?.tools ?? null;
  }
}

/** Returns the `content_sha256` of a content: the digest of its text as PostgreSQL prints it as `jsonb`. */
export function digestOf(content: AgentContent): string {
  const members = CONTENT_FIELDS.map((member) =>
    isJson(member) ? storedJson(content[member].text) : content[member],
  );
  return createHash('sha256').update(jsonbText(members)).digest('hex');
}

function jsonbText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonbText).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) =>
    one.length === other.length ? (one < other ? -1 : 1) : one.length - other.length,
  );
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}: ${jsonbText(member)}`).join(', ')}}`;
}
