import { Injectable } from '@nestjs/common';
import type { OtlpAttributes } from '#otlp';
import type { Tx } from '#platform/db';
import { textOf } from '../span-mapping/field.parser';
import { MEANING_TABLE } from '../span-mapping/meaning.table';
import { TombstoneRepository, type WorkspaceKey } from './tombstone.repository';

/** Why a record is not stored: its workspace or its trace was deleted, or it names a user who was erased since. */
export type RefusalReason = 'deleted_workspace' | 'deleted_trace' | 'erased_user';

/** The attributes that name the user, of spans and of all other records. */
export const USER_ATTRIBUTES: readonly string[] = MEANING_TABLE.userId.sources.flatMap((source) =>
  source.from === 'attribute' ? source.name : [],
);

/** Returns the users that the attributes of a record name. */
export const usersOf = (attributes: OtlpAttributes): string[] =>
  USER_ATTRIBUTES.flatMap((name) => textOf(attributes[name]) ?? []);

/** Number of refused records of an export. */
export type RefusedCounts = Partial<Record<RefusalReason, number>>;

/** The members of a record that decide whether it is refused. */
export interface Refusable {
  workspaceId: string;
  /** Null if the record has no trace, or one that is stored and locked, and therefore not deleted. */
  traceId: string | null;
  userIds: readonly string[];
  /** Microseconds since 1970; null if unknown. Only records from before the erasure of their user are refused. */
  at: bigint | null;
}

/** Finds the records of exports that belong to deleted traces or to erased users. */
@Injectable()
export class Refusals {
  constructor(private readonly tombstones: TombstoneRepository) {}

  /**
   * Returns the records to refuse. Call it after locking the traces, so that it finds the deletions that the lock waited for. For
   * existing workspaces without deleted traces and erased users, it takes one statement.
   */
  async find<Item extends { workspaceId: string }>(
    tx: Tx,
    items: readonly Item[],
    toRefusable: (item: Item) => Refusable,
  ): Promise<Map<Item, RefusalReason>> {
    const refused = new Map<Item, RefusalReason>();
    const workspaceIds = new Set(items.map(({ workspaceId }) => workspaceId));
    const workspaces = await this.tombstones.findWorkspaces(tx, [...workspaceIds]);
    if (workspaces.length === 0) return refused;
    const deletedWorkspaces = namesOf(workspaces, 'is_deleted');
    const withTraces = namesOf(workspaces, 'has_traces');
    const withUsers = namesOf(workspaces, 'has_users');
    const candidates = items.map((item) => ({ item, record: toRefusable(item) }));
    const traces = new Map<string, WorkspaceKey>();
    const users = new Map<string, WorkspaceKey>();
    for (const { record } of candidates) {
      const { workspaceId, traceId, userIds } = record;
      if (traceId !== null && withTraces.has(workspaceId)) add(traces, { workspaceId, id: traceId });
      if (withUsers.has(workspaceId)) for (const id of userIds) add(users, { workspaceId, id });
    }
    const deleted = new Set((await this.tombstones.findTraces(tx, [...traces.values()])).map(nameOf));
    const erased = new Map(
      (await this.tombstones.findUsers(tx, [...users.values()])).map((user) => [nameOf(user), user.erasedAt]),
    );
    for (const { item, record } of candidates) {
      const { workspaceId, traceId, userIds, at } = record;
      const isErased = (id: string): boolean =>
        at !== null && at < (erased.get(nameOf({ workspaceId, id })) ?? 0n);
      if (deletedWorkspaces.has(workspaceId)) {
        refused.set(item, 'deleted_workspace');
      } else if (traceId !== null && deleted.has(nameOf({ workspaceId, id: traceId }))) {
        refused.set(item, 'deleted_trace');
      } else if (userIds.some(isErased)) {
        refused.set(item, 'erased_user');
      }
    }
    return refused;
  }
}

const nameOf = ({ workspaceId, id }: WorkspaceKey): string => `${workspaceId} ${id}`;

const add = (keys: Map<string, WorkspaceKey>, key: WorkspaceKey) => keys.set(nameOf(key), key);

const namesOf = <Flag extends string>(
  workspaces: readonly ({ workspace_id: string } & Record<Flag, boolean>)[],
  flag: Flag,
): Set<string> => new Set(workspaces.flatMap((one) => (one[flag] ? one.workspace_id : [])));

/** Counts refused records by reason. */
export function countRefused(reasons: Iterable<RefusalReason | undefined>): RefusedCounts {
  const counts: RefusedCounts = {};
  for (const reason of reasons) if (reason) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}
