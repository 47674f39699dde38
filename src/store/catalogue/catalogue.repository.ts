import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database, raw, readWithin, sql, type Sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { BY_CREATION, listPage, type RowPage, scanPage, TOTAL_MAX } from '#platform/paging';
import type { StoreItemEntity } from '../items/store-item.entity';
import type { StoreItemListQueryDto } from './catalogue.dto';

/** The audience of items that admit every organization. */
const EVERYBODY = '*';

/** The facet of all items. */
const ALL = '';

const facetOf = (member: 'category' | 'topic', value: string): string => `${member}:${value}`;

/** Which items an organization sees. */
@Injectable()
export class CatalogueRepository {
  constructor(
    private readonly database: Database,
    private readonly environment: Environment,
  ) {}

  /** Updates the listings of an item. A listed item is in the catalogue of its audience and of its own organization. */
  async list(tx: Tx, row: StoreItemEntity): Promise<void> {
    const isListed = row.is_listed && row.archived_at === null;
    const audiences = row.is_public ? [EVERYBODY] : [...new Set([row.org_id, ...row.org_ids])];
    const facets = [
      ALL,
      facetOf('category', row.category),
      ...row.topics.map((topic) => facetOf('topic', topic)),
    ];
    const [given, parts] = isListed ? [audiences, facets] : [[], []];
    await tx.query(
      sql`DELETE FROM store_listings WHERE store_item_id = ${row.store_item_id}
        AND (audience <> ALL (${given}::text[]) OR facet <> ALL (${parts}::text[]))`,
    );
    await tx.query(
      sql`INSERT INTO store_listings (audience, facet, store_item_id)
        SELECT audience, facet, ${row.store_item_id}
        FROM unnest(${given}::text[]) AS audience, unnest(${parts}::text[]) AS facet
        ORDER BY audience, facet
        ON CONFLICT DO NOTHING`,
    );
  }

  /** Returns an item that admits the caller's organization, listed or not. Withdrawn items admit only their own. */
  async find(
    { orgId }: OrgScope,
    itemId: string,
    on: SqlExecutor = this.database,
  ): Promise<StoreItemEntity | null> {
    const [row] = await on.query<StoreItemEntity>(
      sql`SELECT * FROM store_items WHERE store_item_id = ${itemId} AND (
        org_id = ${orgId} OR (archived_at IS NULL AND (is_public OR ${orgId} = ANY (org_ids)))
      )`,
    );
    return row ?? null;
  }

  /**
   * Returns a page of the catalogue, newest first. Items are found by their audience and one facet, whose rows are in the
   * order of the list. Further conditions are checked on a bounded number of items, see `scanPage`.
   */
  listPage(scope: OrgScope, query: StoreItemListQueryDto): Promise<RowPage<StoreItemEntity>> {
    const { q, category, topic } = query;
    const facet =
      topic !== undefined
        ? facetOf('topic', topic)
        : category !== undefined
          ? facetOf('category', category)
          : ALL;
    const listed = listedTo(scope, facet);
    const isScanned = (q !== undefined && q.trim() !== '') || (topic !== undefined && category !== undefined);
    if (isScanned) {
      // the tenant is a part of the listings
      const condition = Where.acrossTenants().addSearch(q);
      condition.addIf(category, (value) => sql`category = ${value}`);
      const spec = {
        columns: 't.*',
        table: sql`(SELECT listed.store_item_id AS listed_id, item.* FROM ${withItems(listed)})`,
        where: Where.acrossTenants(),
        condition: condition.sql,
        id: 'listed_id',
        sorts: BY_CREATION,
        defaultSort: '-created_at',
      };
      const deadline = performance.now() + this.environment.REQUEST_TIMEOUT_MS;
      return readWithin(this.database, deadline, (on) => scanPage<StoreItemEntity>(on, spec, query));
    }
    return listPage<StoreItemEntity>(
      this.database,
      {
        columns: 'item.*',
        from: withItems(listed),
        where: Where.acrossTenants(),
        id: 'listed.store_item_id',
        bytes: 'item.bytes',
        count: () => countOf(this.database, listed),
      },
      query,
    );
  }
}

/** The items of a facet that admit an organization. No item is in both parts. */
const listedTo = ({ orgId }: OrgScope, facet: string): Sql =>
  sql`(
    SELECT store_item_id FROM store_listings WHERE audience = ${EVERYBODY} AND facet = ${facet}
    UNION ALL
    SELECT store_item_id FROM store_listings WHERE audience = ${orgId} AND facet = ${facet}
  ) listed`;

/** Reads the items one by one, in the order of the listings. */
const withItems = (listed: Sql): Sql =>
  sql`${listed} CROSS JOIN LATERAL (
    SELECT * FROM store_items WHERE store_items.store_item_id = listed.store_item_id LIMIT 1
  ) item`;

async function countOf(on: SqlExecutor, listed: Sql): Promise<number | null> {
  const [row] = await on.query<{ total: number }>(
    sql`SELECT count(*) AS total FROM (SELECT 1 FROM ${listed} LIMIT ${raw(String(TOTAL_MAX + 1))}) counted`,
  );
  return row && row.total <= TOTAL_MAX ? row.total : null;
}
