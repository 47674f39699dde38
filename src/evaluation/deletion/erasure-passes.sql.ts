import { empty, raw, type Sql, sql, type Tx } from '#platform/db';
import type { ErasedCounts, ErasureBatch, ErasureItemKind, ErasureItems, ErasureRun } from '../../resources';

/** Items of one batch. Each may have several rows. */
const ITEMS = 200;

/** The column of scores, results and annotation items that names an item of a kind. */
export const columnOf = (kind: ErasureItemKind): Sql =>
  raw(kind === 'record' ? 'dataset_record_id' : `${kind}_id`);

/**
 * Passes the next items of an erasure to `handle`, one kind after another.
 *
 * @param cursor the kind and the last id of the batch before
 */
export async function passItems(
  items: ErasureItems,
  tx: Tx,
  erasure: ErasureRun,
  kinds: readonly ErasureItemKind[],
  cursor: string | null,
  handle: (kind: ErasureItemKind, ids: readonly string[]) => Promise<ErasedCounts>,
): Promise<ErasureBatch> {
  const separator = cursor?.indexOf(' ') ?? -1;
  const kind = cursor === null ? kinds[0]! : (cursor.slice(0, separator) as ErasureItemKind);
  const after = cursor === null ? null : cursor.slice(separator + 1);
  const ids = await items.list(tx, erasure, kind, after, ITEMS);
  const counts = ids.length > 0 ? await handle(kind, ids) : {};
  if (ids.length === ITEMS) return { counts, next: `${kind} ${ids.at(-1)}` };
  const following = kinds[kinds.indexOf(kind) + 1];
  return { counts, next: following === undefined ? null : `${following} ` };
}

/**
 * Returns the further condition on rows of a session: that they are about no trace, or about an erased one. Several users may
 * share a session, and the traces of the others stay. Empty for other kinds.
 *
 * @param table whose `trace_id` it is
 */
export const andOfErasedTrace = (
  { erasureId, workspaceId }: ErasureRun,
  kind: ErasureItemKind,
  table: string,
): Sql =>
  kind === 'session'
    ? sql` AND (${raw(table)}.trace_id IS NULL OR EXISTS (SELECT FROM erasure_items shared
        WHERE shared.erasure_id = ${erasureId} AND shared.workspace_id = ${workspaceId} AND shared.item_kind = 'trace'
          AND shared.item_id = ${raw(table)}.trace_id))`
    : empty;
