import type { Migration } from '../../src/database/migrations/migration';

/** Checklists of a workspace. */
export const CHECKLIST_ITEMS: Migration = {
  name: '1795910400000-checklist-items',
  release: '0.2.0',
  steps: [
    {
      kind: 'expand',
      // the foreign key
      locks: { workspaces: 'SHARE ROW EXCLUSIVE' },
      sql: `
        CREATE TABLE checklist_items (
          item_id text COLLATE "C" PRIMARY KEY,
          workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
          name text NOT NULL,
          is_required boolean NOT NULL,
          metadata json NOT NULL DEFAULT '{}',
          generation integer NOT NULL,
          created_at timestamptz NOT NULL,
          updated_at timestamptz NOT NULL,
          created_by text COLLATE "C" NOT NULL,
          archived_at timestamptz
        );
        CREATE UNIQUE INDEX checklist_items_name ON checklist_items (workspace_id, (name COLLATE "C"))
          WHERE archived_at IS NULL;
        -- GET /eval/v1/checklist-items: sorts created_at, updated_at and name
        CREATE INDEX checklist_items_by_creation ON checklist_items (workspace_id, item_id);
        CREATE INDEX checklist_items_by_update ON checklist_items (workspace_id, updated_at, item_id);
        CREATE INDEX checklist_items_by_name ON checklist_items (workspace_id, (name COLLATE "C"), item_id);
      `,
    },
  ],
};
