import { filteredBy, inWorkspace, NOTHING, ORGANIZATION, type Row, words } from './row.fixture';

const TEXTS = { name: 'x', category: 'other', license: 'x', actions: ['install'] };

/** An organization's items are visible in all its workspaces. The tenant offers its items to no other organization. */
export const STORE_ROWS: Readonly<Record<string, Row>> = {
  'GET /store/v1/publisher/items': { level: 'organization', queries: () => ['', 'limit=0'] },
  'POST /store/v1/publisher/items': {
    bodies: (theirs, own) => [
      {
        ...TEXTS,
        workspace_id: theirs.workspace_id,
        artifact: { kind: 'skill', artifact_id: theirs.skill_id },
      },
      { ...TEXTS, workspace_id: own.workspace_id, artifact: { kind: 'skill', artifact_id: theirs.skill_id } },
    ],
  },
  'GET /store/v1/publisher/items/{store_item_id}': ORGANIZATION,
  'PATCH /store/v1/publisher/items/{store_item_id}': {
    level: 'organization',
    bodies: () => [{ tagline: 'taken over' }],
  },
  'PUT /store/v1/publisher/items/{store_item_id}/policy': {
    level: 'organization',
    bodies: () => [{ audience: { is_public: true }, is_listed: true, can_acquire: true }],
  },
  'POST /store/v1/publisher/items/{store_item_id}/withdraw': ORGANIZATION,
  'DELETE /store/v1/publisher/items/{store_item_id}': ORGANIZATION,
  'POST /store/v1/publisher/items/{store_item_id}/releases': { level: 'organization', bodies: () => [{}] },
  'GET /store/v1/publisher/items/{store_item_id}/releases': ORGANIZATION,
  'GET /store/v1/items': {
    level: 'organization',
    queries: (theirs) => words(theirs).filter((one) => !one.startsWith('include')),
  },
  'GET /store/v1/items/{store_item_id}': ORGANIZATION,
  'GET /store/v1/items/{store_item_id}/releases': ORGANIZATION,
  'GET /store/v1/items/{store_item_id}/package': ORGANIZATION,
  'POST /store/v1/items/{store_item_id}/acquire': {
    level: 'organization',
    bodies: (_, own) => inWorkspace()(own),
  },
  'POST /store/v1/items/{store_item_id}/review': { level: 'platform' },
  'GET /store/v1/acquisitions': { queries: filteredBy('workspace_id', 'store_item_id') },
  'GET /store/v1/acquisitions/{acquisition_id}': NOTHING,
  'POST /store/v1/acquisitions/{acquisition_id}/upgrade': { bodies: () => [{}] },
};
