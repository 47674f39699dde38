import { replaceIndexes, SqlMigration } from './sql-migration';

/** The listings of an item. */
export class StoreItemListings1795460000050 extends SqlMigration {
  protected readonly sql = `
    -- Hash index, so that the planner cannot use it for the lists of other facets, which are in the order of items.
    CREATE INDEX new_store_listings_of_item ON store_listings USING hash (store_item_id);
    ${replaceIndexes('store_listings_of_item')}
  `;
}
