import { NOTHING, ofWorkspace, type Row } from './row.fixture';

const TEXT = 'text/plain';

/** Files and their versions. */
export const FILES_ROWS: Readonly<Record<string, Row>> = {
  'POST /file/v1/files': {
    bodies: () => ['x'],
    type: TEXT,
    queries: ({ workspace_id, marker }) => [`workspace_id=${workspace_id}&name=${marker}-taken`],
  },
  'GET /file/v1/files': { queries: (theirs) => [...ofWorkspace('app')(theirs), 'media_type=text/plain'] },
  'GET /file/v1/files/{file_id}': NOTHING,
  'PATCH /file/v1/files/{file_id}': { bodies: () => [{ name: 'taken over' }] },
  'POST /file/v1/files/{file_id}/archive': NOTHING,
  'POST /file/v1/files/{file_id}/restore': NOTHING,
  'DELETE /file/v1/files/{file_id}': NOTHING,
  'DELETE /file/v1/files/{file_id}/versions/{version_ordinal}': NOTHING,
  'GET /file/v1/files/{file_id}/content': NOTHING,
  'POST /file/v1/files/{file_id}/versions': { bodies: () => ['taken over'], type: TEXT },
  'GET /file/v1/files/{file_id}/versions': NOTHING,
  'GET /file/v1/files/{file_id}/versions/{version_ordinal}': NOTHING,
  'GET /file/v1/files/{file_id}/versions/{version_ordinal}/content': NOTHING,
};
