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
  createdWithin,
  decodeCursor,
  listPage,
  PAGE_SIZE_DEFAULT,
  type OrderedListQueryDto,
  type RowPage,
  TOTAL_MAX,
} from '#platform/paging';
import { ALL, EVERYBODY, facetOf } from './listing.repository';
import type { StoreItemEntity } from './store-item.entity';
import type { StoreItemListQueryDto } from './catalogue.dto';

const NEWEST_FIRST = '-created_at';

const FACETS = ['name', 'topic', 'category'] as const;

/** Finds the items that an organization may see. */
@Injectable()
export class CatalogueRepository {
  constructor(
    private readonly database: Database,
    private readonly environment: Environment,
  ) {}

  /**
   * Returns an item that admits the caller's organization, listed or not. Withdrawn items admit only their publisher.
   */
  find(scope: OrgScope, itemId: string, on: SqlExecutor = this.database): Promise<StoreItemEntity | null> {
    return this.findAdmitting(on, scope, itemId, empty);
  }

  /** Like `find`, but locks the item against changes until the transaction ends. */
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
   * Returns a page of the catalogue, newest first. Items are looked up by audience and one facet, in the order of the
   * list. Further conditions are checked on a limited number of items. See `listPage`.
   */
  listPage(scope: OrgScope, query: StoreItemListQueryDto): Promise<RowPage<StoreItemEntity>> {
    const { q, category, topic } = query;
    // The most selective facet comes first.
    const [facet = ALL, ...others] = FACETS.flatMap((member) => {
      const value = query[member];
      return value === undefined ? [] : facetOf(member, value);
    });
    const created = createdWithin('store_item_id', 'created_at', query);
    const isScanned = (q !== undefined && q.trim() !== '') || others.length + created.length > 0;
    if (isScanned) {
      // The listings are already limited to the caller's organization.
      const condition = Where.acrossTenants().addSearch(q);
      condition.addIf(category, (value) => sql`category = ${value}`);
      condition.addIf(topic, (value) => sql`${value} = ANY (topics)`);
      for (const bound of created) condition.add(bound);
      const spec = {
        columns: 't.*',
        from: sql`(SELECT listed.store_item_id AS listed_id, item.* FROM ${withItems(listedTo(scope, facet, orderOfPage(query)))}) t`,
        where: Where.acrossTenants(),
        scan: { condition: condition.sql },
        id: 'listed_id',
        sorts: { created_at: { expression: 'listed_id', type: 'text' as const } },
        defaultSort: NEWEST_FIRST,
      };
      const deadline = performance.now() + this.environment.REQUEST_TIMEOUT_MS;
      return readWithin(this.database, deadline, (on) => listPage<StoreItemEntity>(on, spec, query));
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

/**
 * Selects the items of a facet that admit an organization: those listed for everybody, and those listed for it. No item is
 * in both parts. PostgreSQL merges the parts in their order.
 */
const listedTo = ({ orgId }: OrgScope, facet: string, order: Sql = empty): Sql => sql`(
    (SELECT store_item_id FROM store_listings WHERE audience = ${EVERYBODY} AND facet = ${facet} ${order})
    UNION ALL
    (SELECT store_item_id FROM store_listings WHERE audience = ${orgId} AND facet = ${facet} ${order})
  ) listed`;

/**
 * Returns the order of a list, for each part of `listedTo`.
 *
 * @param limit the maximum number of rows of each part, starting at the cursor. Without it, the planner would expect to
 * read all rows
 */
function orderOfPage(query: OrderedListQueryDto, limit?: number): Sql {
  const isDescending = (query.sort ?? NEWEST_FIRST) === NEWEST_FIRST;
  const after = query.cursor === undefined || limit === undefined ? undefined : decodeCursor(query.cursor).id;
  const start =
    after === undefined ? empty : sql`AND store_item_id ${raw(isDescending ? '<' : '>')} ${after}`;
  const end = limit === undefined ? empty : sql`LIMIT ${limit}`;
  return sql`${start} ORDER BY store_item_id ${raw(isDescending ? 'DESC' : 'ASC')} ${end}`;
}

/** Joins the items one by one, in the order of the listings. */
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
