import { Injectable } from '@nestjs/common';
import { sql, type Tx } from '#platform/db';
import type { StoreItemEntity } from './store-item.entity';

/** The audience of items that admit every organization. */
export const EVERYBODY = '*';

/** The facet of all items. */
export const ALL = '';

/** Returns the facet of the items that have this name, category or topic. */
export const facetOf = (member: 'name' | 'category' | 'topic', value: string): string => `${member}:${value}`;

/** The entries of the catalogue. An item has one entry for each pair of an audience and a facet. */
@Injectable()
export class ListingRepository {
  /** Updates the entries of an item. A listed item is in the catalogues of its audience and of its own organization. */
  async put(tx: Tx, row: StoreItemEntity): Promise<void> {
    const isListed = row.is_listed && row.archived_at === null;
    const audiences = row.is_public ? [EVERYBODY] : [...new Set([row.org_id, ...row.org_ids])];
    const facets = [
      ALL,
      facetOf('name', row.name),
      facetOf('category', row.category),
      ...row.topics.map((topic) => facetOf('topic', topic)),
    ];
    const [listedAudiences, listedFacets] = isListed ? [audiences, facets] : [[], []];
    await tx.query(
      sql`DELETE FROM store_listings WHERE store_item_id = ${row.store_item_id}
        AND (audience <> ALL (${listedAudiences}::text[]) OR facet <> ALL (${listedFacets}::text[]))`,
    );
    await tx.query(
      sql`INSERT INTO store_listings (audience, facet, store_item_id)
        SELECT audience, facet, ${row.store_item_id}
        FROM unnest(${listedAudiences}::text[]) AS audience, unnest(${listedFacets}::text[]) AS facet
        ORDER BY audience, facet
        ON CONFLICT DO NOTHING`,
    );
  }
}
