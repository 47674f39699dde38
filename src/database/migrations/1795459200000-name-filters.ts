import { SqlMigration } from './sql-migration';

/** Indexes of the lists that filter by name, and the facet by which the store's catalogue filters by name. */
export class NameFilters1795459200000 extends SqlMigration {
  protected readonly sql = `
    CREATE INDEX organizations_by_name ON organizations ((name COLLATE "C"), org_id);
    CREATE INDEX org_signing_keys_by_name ON org_signing_keys (org_id, (name COLLATE "C"), kid);
    CREATE INDEX store_items_by_name ON store_items (org_id, (name COLLATE "C"), ordinal);
    INSERT INTO store_listings (audience, facet, store_item_id)
      SELECT audience, 'name:' || name, store_item_id FROM store_listings JOIN store_items USING (store_item_id)
      WHERE facet = '';
  `;
}
