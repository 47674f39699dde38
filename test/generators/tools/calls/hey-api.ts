// A client that @hey-api/openapi-ts generated calls one operation of each kind.
import * as api from './hey-api/sdk.gen';
import { client } from './hey-api/client.gen';
import { CSV, environment, linesOf, RECORDS, report } from './environment';

const { baseUrl, key, workspaceId } = environment;
client.setConfig({ baseUrl, auth: key, throwOnError: true });
const headers = { 'X-Service-Workspace-Id': workspaceId };

const created = await api.createDataset({
  headers,
  body: { workspace_id: workspaceId, name: 'hey-api' },
  throwOnError: true,
});
const path = { dataset_id: created.data.dataset_id };
const listed = await api.listDatasets({ headers, query: { name: 'hey-api' }, throwOnError: true });
const bulk = await api.createRecordsBulk({
  headers,
  path,
  body: { workspace_id: workspaceId, items: RECORDS },
  throwOnError: true,
});
const version = await api.createDatasetVersion({
  headers: { ...headers, 'Content-Type': 'text/csv' },
  path,
  body: CSV as never,
  bodySerializer: null,
  throwOnError: true,
});
const file = await api.createFile({
  body: { workspace_id: workspaceId, file: new File([CSV], 'hey-api.csv') },
  throwOnError: true,
});
const exported = await api.exportRecords({ headers, path, parseAs: 'stream', throwOnError: true });

report({
  created: created.data.name,
  listed: listed.data.items.map((one) => one.name),
  bulk: bulk.data.items.map((item) => ('record' in item ? item.record.external_id : item.error.code)),
  rows: version.data.row_count,
  file: file.data.name,
  lines: await linesOf(exported.data as unknown as ReadableStream<Uint8Array>),
});
