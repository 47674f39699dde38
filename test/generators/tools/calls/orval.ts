// A client that orval generated calls one operation of each kind, through the function in orval-fetch.ts.
import * as api from './orval/api';
import { CSV, environment, linesOf, RECORDS, report } from './environment';

const { workspaceId } = environment;

const created = await api.createDataset({ workspace_id: workspaceId, name: 'orval' });
if (created.status !== 201) throw new Error(`createDataset: ${created.status}`);
const { dataset_id } = created.data;
const listed = await api.listDatasets({ name: 'orval' });
const bulk = await api.createRecordsBulk(dataset_id, { workspace_id: workspaceId, items: RECORDS });
const version = await api.createDatasetVersion(dataset_id, {
  workspace_id: workspaceId,
  content: CSV,
});
const file = await api.createFile({ workspace_id: workspaceId, file: new File([CSV], 'orval.csv') });
const exported = await api.exportRecords(dataset_id);
if (listed.status !== 200 || bulk.status !== 207 || file.status !== 201)
  throw new Error('A call has failed.');
if (version.status !== 201 || exported.status !== 200) throw new Error('A call has failed.');

report({
  created: created.data.name,
  listed: listed.data.items.map((one) => one.name),
  bulk: bulk.data.items.map((item) => ('record' in item ? item.record.external_id : item.error.code)),
  rows: version.data.row_count,
  file: file.data.name,
  lines: await linesOf(exported.data as unknown as ReadableStream<Uint8Array>),
});
