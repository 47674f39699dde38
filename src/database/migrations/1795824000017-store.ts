import { bytesOf, SqlMigration } from './sql-migration';

/** The items that organizations publish in the store, and the copies that others acquire. */
export class Store1795824000017 extends SqlMigration {
  protected readonly sql = `
    -- The number of items that each organization has published. Locked by the transaction that publishes an item.
    CREATE TABLE store_item_counts (
      org_id text COLLATE "C" PRIMARY KEY REFERENCES organizations,
      count bigint NOT NULL
    );

    -- Items with the content of their newest release.
    CREATE TABLE store_items (
      store_item_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      -- from 1 without gaps in the organization, so that a page is a range
      ordinal bigint NOT NULL,
      artifact_kind text COLLATE "C" NOT NULL,
      artifact_id text COLLATE "C" NOT NULL,
      -- whether the resource was deleted
      artifact_erased boolean NOT NULL DEFAULT false,
      name text NOT NULL,
      category text COLLATE "C" NOT NULL CONSTRAINT store_items_category
        CHECK (category IN ('agents', 'skills', 'tools', 'data', 'evaluation', 'other')),
      license text NOT NULL,
      tagline text,
      artwork text,
      highlights text[] NOT NULL,
      topics text[] NOT NULL,
      is_reviewed boolean NOT NULL,
      -- the newest release
      release_id text COLLATE "C" NOT NULL,
      publication_id text COLLATE "C" NOT NULL,
      version_label text,
      release_notes text,
      actions text[] NOT NULL,
      manifest json NOT NULL,
      agent_profile json,
      sha256 text COLLATE "C" NOT NULL,
      size_bytes bigint NOT NULL,
      file_count bigint NOT NULL,
      signature text,
      -- the policy
      policy_generation bigint NOT NULL,
      is_public boolean NOT NULL,
      org_ids text[] NOT NULL,
      is_listed boolean NOT NULL,
      can_acquire boolean NOT NULL,
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      -- when the item was withdrawn
      archived_at timestamptz,
      bytes integer GENERATED ALWAYS AS
        (${bytesOf('manifest', 'agent_profile', 'release_notes')} + 32 * cardinality(org_ids)) STORED,
      search tsvector GENERATED ALWAYS AS (search_words(name || ' ' || coalesce(tagline, ''))) STORED,
      -- GET /store/v1/publisher/items: the whole list. Deferrable, so that one statement can renumber items.
      CONSTRAINT store_items_by_ordinal UNIQUE (org_id, ordinal) DEFERRABLE
    );
    -- GET /store/v1/publisher/items: filter name
    CREATE INDEX store_items_by_name ON store_items (org_id, (name COLLATE "C"), ordinal);

    -- the items that publish a resource
    CREATE INDEX store_items_of_artifact ON store_items (workspace_id, artifact_id);

    -- Releases of items. Their content never changes.
    CREATE TABLE store_releases (
      release_id text COLLATE "C" PRIMARY KEY,
      store_item_id text COLLATE "C" NOT NULL REFERENCES store_items ON DELETE CASCADE,
      org_id text COLLATE "C" NOT NULL,
      workspace_id text COLLATE "C" NOT NULL,
      publication_id text COLLATE "C" NOT NULL,
      version_label text,
      release_notes text,
      actions text[] NOT NULL,
      manifest json NOT NULL,
      agent_profile json,
      sha256 text COLLATE "C" NOT NULL,
      size_bytes bigint NOT NULL,
      file_count bigint NOT NULL,
      -- a compact JWS; null for a release that is not signed
      signature text,
      created_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer GENERATED ALWAYS AS (${bytesOf('manifest', 'release_notes', 'signature')}) STORED,
      FOREIGN KEY (org_id, sha256) REFERENCES blobs
    );
    -- GET /store/v1/publisher/items/{store_item_id}/releases
    CREATE INDEX store_releases_of_item ON store_releases (store_item_id, release_id);
    -- whether a package is still needed
    CREATE INDEX store_releases_by_content ON store_releases (org_id, sha256);

    -- The listed items, once for each organization that they admit, and for each of their facets.
    CREATE TABLE store_listings (
      -- an organization, or * for all organizations
      audience text COLLATE "C" NOT NULL,
      -- empty for the whole catalogue; name:<name>; category:<category>; topic:<topic>
      facet text COLLATE "C" NOT NULL,
      store_item_id text COLLATE "C" NOT NULL REFERENCES store_items ON DELETE CASCADE,
      PRIMARY KEY (audience, facet, store_item_id)
    );
    -- Changes of an item. A hash index, so that the planner cannot use it for the lists of other facets, which are in the
    -- order of items.
    CREATE INDEX store_listings_of_item ON store_listings USING hash (store_item_id);

    -- The releases that workspaces have installed, and the copies of their components.
    CREATE TABLE store_acquisitions (
      acquisition_id text COLLATE "C" PRIMARY KEY,
      org_id text COLLATE "C" NOT NULL REFERENCES organizations,
      workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
      -- usually of another organization. No foreign keys, because their locks would keep the publisher from changing the item
      -- while others install it.
      store_item_id text COLLATE "C" NOT NULL,
      release_id text COLLATE "C" NOT NULL,
      copies json NOT NULL,
      generation integer NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      bytes integer GENERATED ALWAYS AS (${bytesOf('copies')}) STORED,
      CONSTRAINT store_acquisitions_once UNIQUE (workspace_id, store_item_id)
    );
    -- GET /store/v1/acquisitions: in the organization and in one workspace, and filters store_item_id
    CREATE INDEX store_acquisitions_by_creation ON store_acquisitions (org_id, acquisition_id);
    CREATE INDEX store_acquisitions_of_workspace ON store_acquisitions (org_id, workspace_id, acquisition_id);
    CREATE INDEX store_acquisitions_of_item ON store_acquisitions (org_id, store_item_id, acquisition_id);
    -- whether an item has been acquired
    CREATE INDEX store_acquisitions_by_item ON store_acquisitions (store_item_id);
  `;
}
