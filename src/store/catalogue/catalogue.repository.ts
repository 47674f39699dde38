import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Environment } from '#platform/config';
import {
  Database,
  empty,
  raw,
  readWithin,
  type Sql,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
} from '#platform/db';
import {
  decodeCursor,
  listPage,
  PAGE_SIZE_DEFAULT,
  type OrderedListQueryDto,
  type RowPage,
  scanPage,
  TOTAL_MAX,
} from '#platform/paging';
import { ALL, EVERYBODY, facetOf } from '../items/listing.repository';
import type { StoreItemEntity } from '../items/store-item.entity';
import type { StoreItemListQueryDto } from './catalogue.dto';

const NEWEST_FIRST = '-created_at';

const FACETS = ['name', 'topic', 'category'] as const;

/** Which items an organization sees. */
@Injectable()
export class CatalogueRepository {
  constructor(
    private readonly database: Database,
    private readonly environment: Environment,
  ) {}

  /** Returns an item that admits the caller's organization, listed or not. Withdrawn items admit only their own. */
  find(scope: OrgScope, itemId: string, on: SqlExecutor = this.database): Promise<StoreItemEntity | null> {
    return this.findAdmitting(on, scope, itemId, empty);
  }

  /** Like `find`, and keeps the item as it is until the transaction ends. */
  lock(tx: Tx, scope: OrgScope, itemId: string): Promise<StoreItemEntity | null> {
    return this.findAdmitting(tx, scope, itemId, sql` FOR SHARE`);
  }

  private async findAdmitting(
    on: SqlExecutor,
    { orgId }: OrgScope,
    itemId: string,
    lock: Sql,
  ): Promise<StoreItemEntity | null> {
    const [row] = await on.query<StoreItemEntity>(
      sql`SELECT * FROM store_items WHERE store_item_id = ${itemId} AND (
        org_id = ${orgId} OR (archived_at IS NULL AND (is_public OR ${orgId} = ANY (org_ids)))
      )${lock}`,
    );
    return row ?? null;
  }

  /**
   * Returns a page of the catalogue, newest first. Items are found by their audience and one facet, whose rows are in the
   * order of the list. Further conditions are checked on a bounded number of items, see `scanPage`.
   */
  listPage(scope: OrgScope, query: StoreItemListQueryDto): Promise<RowPage<StoreItemEntity>> {
    const { q, category, topic } = query;
    // the rarest one first
    const [facet = ALL, ...others] = FACETS.flatMap((member) => {
      const value = query[member];
      return value === undefined ? [] : facetOf(member, value);
    });
    const isScanned = (q !== undefined && q.trim() !== '') || others.length > 0;
    if (isScanned) {
      // the tenant is a part of the listings
      const condition = Where.acrossTenants().addSearch(q);
      condition.addIf(category, (value) => sql`category = ${value}`);
      condition.addIf(topic, (value) => sql`${value} = ANY (topics)`);
      const spec = {
        columns: 't.*',
        table: sql`(SELECT listed.store_item_id AS listed_id, item.* FROM ${withItems(listedTo(scope, facet, orderOfPage(query)))})`,
        where: Where.acrossTenants(),
        condition: condition.sql,
        id: 'listed_id',
        sorts: { created_at: { expression: 'listed_id', type: 'text' as const } },
        defaultSort: NEWEST_FIRST,
      };
      const deadline = performance.now() + this.environment.REQUEST_TIMEOUT_MS;
      return readWithin(this.database, deadline, (on) => scanPage<StoreItemEntity>(on, spec, query));
    }
    const { limit = PAGE_SIZE_DEFAULT, offset = 0 } = query;
    return listPage<StoreItemEntity>(
      this.database,
      {
        columns: 'item.*',
        from: withItems(listedTo(scope, facet, orderOfPage(query, offset + limit + 1))),
        where: Where.acrossTenants(),
        id: 'listed.store_item_id',
        bytes: 'item.bytes',
        count: () => countOf(this.database, listedTo(scope, facet)),
      },
      query,
    );
  }
}

/** The items of a facet that admit an organization. No item is in both parts, which PostgreSQL merges in their order. */
const listedTo = ({ orgId }: OrgScope, facet: string, order: Sql = empty): Sql => sql`(
    (SELECT store_item_id FROM store_listings WHERE audience = ${EVERYBODY} AND facet = ${facet} ${order})
    UNION ALL
    (SELECT store_item_id FROM store_listings WHERE audience = ${orgId} AND facet = ${facet} ${order})
  ) listed`;

/**
 * The order of a list in each part of its items.
 *
 * @param most begins each part where the page begins, and ends it where the page ends at the latest. Without it, the
 * planner would expect to need all rows
 */
function orderOfPage(query: OrderedListQueryDto, most?: number): Sql {
  const isDescending = (query.sort ?? NEWEST_FIRST) === NEWEST_FIRST;
  const after = query.cursor === undefined || most === undefined ? undefined : decodeCursor(query.cursor).id;
  const start =
    after === undefined ? empty : sql`AND store_item_id ${raw(isDescending ? '<' : '>')} ${after}`;
  const end = most === undefined ? empty : sql`LIMIT ${most}`;
  return sql`${start} ORDER BY store_item_id ${raw(isDescending ? 'DESC' : 'ASC')} ${end}`;
}

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
