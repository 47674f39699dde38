import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type Tx, Where } from '#platform/db';
import { toJsonText } from '#platform/json';
import { OwnedRepository, type SweptApp } from '../../registry';
import { type AgentContent, type AgentEntity, CONTENT_MEMBERS } from '../agents/agent.entity';

const COLUMNS = `agent_id, org_id, workspace_id, name, version_ordinal, version_id, ${CONTENT_MEMBERS.join(', ')}, app_id, app,
  sync_state, generation, created_at, updated_at, created_by, archived_at`;

/** What a sweep writes again of an agent that it changes. */
const CHANGED = [
  ...CONTENT_MEMBERS,
  'version_ordinal',
  'version_id',
  'sync_state',
  'generation',
  'updated_at',
].map((column) => `${column} = given.${column}`);

/** An agent, as a sweep first looks at it. Of what it is made of, which may be large, the SHA-256 in hexadecimal. */
export interface OwnedAgent extends Pick<AgentEntity, 'agent_id' | 'name' | 'app_id' | 'sync_state'> {
  content_sha256: string;
  /** About as many as the content has. */
  bytes: number;
}

const DIGESTED = CONTENT_MEMBERS.map((member) => (member === 'metadata' ? 'metadata::text' : member));

const OWNED = `agent_id, name, app_id, sync_state, bytes,
  encode(sha256(convert_to(jsonb_build_array(${DIGESTED.join(', ')})::text, 'UTF8')), 'hex') AS content_sha256`;

/** The digest of `OwnedAgent`: of the text that PostgreSQL has for the same content as `jsonb`. */
export function digestOf(content: AgentContent): string {
  const members = CONTENT_MEMBERS.map((member) =>
    member === 'metadata' ? content.metadata.text : content[member],
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

/** The agents of a sweep, any number of them by one statement. */
@Injectable()
export class AgentSweepRepository extends OwnedRepository {
  constructor() {
    super({ table: 'agents', id: 'agent_id', declaredName: 'name' });
  }

  /** The workspace's live agents that are the app's or have one of these names, locked. */
  lockDeclared(tx: Tx, scope: Scope, { appId }: SweptApp, names: readonly string[]): Promise<OwnedAgent[]> {
    const where = new Where(scope.key)
      .add('archived_at IS NULL')
      .add('(app_id = ? OR name = ANY (?))', appId, names);
    return tx.query<OwnedAgent>(
      `SELECT ${OWNED} FROM agents WHERE ${where.toString()} ORDER BY agent_id FOR UPDATE`,
      where.values,
    );
  }

  /** Whole agents, which may be large: a page of them. */
  read(tx: Tx, scope: Scope, ids: readonly string[]): Promise<AgentEntity[]> {
    return tx.query<AgentEntity>(
      `SELECT ${COLUMNS} FROM agents WHERE agent_id = ANY ($1) AND workspace_id = $2`,
      [ids, scope.workspaceId],
    );
  }

  async insertMany(tx: Tx, rows: readonly AgentEntity[]): Promise<void> {
    if (rows.length === 0) return;
    await tx.query(
      `INSERT INTO agents (${COLUMNS}) SELECT ${COLUMNS} FROM json_populate_recordset(NULL::agents, $1)`,
      [toJsonText(rows)],
    );
  }

  async updateMany(tx: Tx, scope: Scope, rows: readonly AgentEntity[]): Promise<void> {
    if (rows.length === 0) return;
    await tx.query(
      `UPDATE agents AS a SET ${CHANGED.join(', ')}
       FROM json_populate_recordset(NULL::agents, $1) AS given
       WHERE a.agent_id = given.agent_id AND a.workspace_id = $2`,
      [toJsonText(rows), scope.workspaceId],
    );
  }
}
