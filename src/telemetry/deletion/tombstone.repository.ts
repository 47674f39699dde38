import { Injectable } from '@nestjs/common';
import {
  BulkColumns,
  inChunks,
  prepared,
  raw,
  sql,
  type SqlExecutor,
  timeToMicroseconds,
  type Tx,
} from '#platform/db';
import { SecretKeys } from '#platform/secrets';

/** A trace or a user of a workspace. */
export interface WorkspaceKey {
  workspaceId: string;
  id: string;
}

/** The kinds of hashes. Each has its own key, so that a hash of one kind says nothing about another. */
const PURPOSES = { trace: 'deleted trace', user: 'erased user' };

interface Hashed {
  place: number;
  workspaceId: string;
  hash: string;
}

const KEYS = new BulkColumns<Hashed>([
  { name: 'place', type: 'int8', value: ({ place }) => place },
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'hash', type: 'uuid', value: ({ hash }) => hash },
]);

/** Stores keyed hashes of deleted traces and of erased users, and finds them. It never stores their ids. */
@Injectable()
export class TombstoneRepository {
  constructor(private readonly keys: SecretKeys) {}

  /**
   * Returns which workspaces no longer exist, and which have deleted traces or erased users, so that the exports of others compute
   * no hashes.
   */
  findWorkspaces(
    tx: Tx,
    workspaceIds: readonly string[],
  ): Promise<{ workspace_id: string; is_deleted: boolean; has_traces: boolean; has_users: boolean }[]> {
    return tx.query(
      prepared(
        'tombstone.workspaces',
        sql`SELECT * FROM (
            SELECT w.id AS workspace_id,
              (SELECT true FROM workspaces WHERE workspace_id = w.id LIMIT 1) IS NULL AS is_deleted,
              (SELECT true FROM deleted_traces WHERE workspace_id = w.id LIMIT 1) IS TRUE AS has_traces,
              (SELECT true FROM erased_users WHERE workspace_id = w.id LIMIT 1) IS TRUE AS has_users
            FROM unnest(${workspaceIds}::text[]) AS w(id)) w WHERE is_deleted OR has_traces OR has_users`,
      ),
    );
  }

  async addTraces(tx: Tx, traces: readonly WorkspaceKey[]): Promise<void> {
    // sorted, so that concurrent deletions do not deadlock
    const hashed = this.hash('trace', traces).sort((one, other) => (one.hash < other.hash ? -1 : 1));
    await inChunks(hashed, (chunk) =>
      tx.query(
        prepared(
          'tombstone.add-traces',
          sql`INSERT INTO deleted_traces (workspace_id, trace_hash) SELECT workspace_id, hash FROM ${KEYS.table(chunk, 'k')}
            ON CONFLICT (workspace_id, trace_hash) DO NOTHING`,
        ),
      ),
    );
  }

  /** Returns the traces that were deleted. */
  async findTraces<Key extends WorkspaceKey>(on: SqlExecutor, traces: readonly Key[]): Promise<Key[]> {
    const rows = await inChunks(this.hash('trace', traces), (chunk) =>
      on.query<{ place: number }>(
        prepared(
          'tombstone.find-traces',
          sql`SELECT k.place FROM ${KEYS.table(chunk, 'k')} CROSS JOIN LATERAL (
              SELECT FROM deleted_traces WHERE workspace_id = k.workspace_id AND trace_hash = k.hash OFFSET 0) d`,
        ),
      ),
    );
    return rows.map(({ place }) => traces[place]!);
  }

  /** Records the erasure of a user, or a later one. */
  async addUser(tx: Tx, user: WorkspaceKey, erasedAt: Date): Promise<void> {
    const [{ workspaceId, hash } = { workspaceId: '', hash: '' }] = this.hash('user', [user]);
    await tx.query(
      sql`INSERT INTO erased_users AS known (workspace_id, user_hash, erased_at)
        VALUES (${workspaceId}, ${hash}::uuid, ${erasedAt})
        ON CONFLICT (workspace_id, user_hash) DO UPDATE SET erased_at = greatest(known.erased_at, excluded.erased_at)`,
    );
  }

  /** Returns the users that were erased, with the time in microseconds since 1970. */
  async findUsers<Key extends WorkspaceKey>(
    tx: Tx,
    users: readonly Key[],
  ): Promise<(Key & { erasedAt: bigint })[]> {
    const rows = await inChunks(this.hash('user', users), (chunk) =>
      tx.query<{ place: number; erased_us: string }>(
        prepared(
          'tombstone.find-users',
          sql`SELECT k.place, ${timeToMicroseconds(raw('u.erased_at'))}::text AS erased_us
            FROM ${KEYS.table(chunk, 'k')} CROSS JOIN LATERAL (
              SELECT erased_at FROM erased_users WHERE workspace_id = k.workspace_id AND user_hash = k.hash OFFSET 0) u`,
        ),
      ),
    );
    return rows.map(({ place, erased_us }) => ({ ...users[place]!, erasedAt: BigInt(erased_us) }));
  }

  private hash(kind: keyof typeof PURPOSES, keys: readonly WorkspaceKey[]): Hashed[] {
    return keys.map(({ workspaceId, id }, place) => {
      const mac = this.keys.mac(PURPOSES[kind], `${workspaceId} ${id}`);
      return { place, workspaceId, hash: mac.toString('hex').slice(0, 32) };
    });
  }
}
