import { Injectable } from '@nestjs/common';
import { BulkColumns, type Tx } from '#platform/db';
import { inChunks } from '../exports/in-chunks';
import { TODAY } from '../partitions/today';
import type { WorkspaceSource } from './source-record';

const WRITTEN = new BulkColumns<WorkspaceSource>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'source_id', type: 'uuid', value: ({ id }) => id },
  { name: 'resource', type: 'json', value: ({ resource }) => resource },
  { name: 'scope', type: 'json', value: ({ scope }) => scope },
]);

/** Tells of sources that are there already that they were used today; what is told is not written again. */
const KEEP_SOURCES = {
  name: 'span-source.keep-many',
  text: `INSERT INTO span_sources AS o (day, ${WRITTEN.names})
    SELECT ${TODAY}, ${WRITTEN.names} FROM ${WRITTEN.from(1, 'given')}
    ON CONFLICT (workspace_id, source_id) DO UPDATE SET day = excluded.day WHERE o.day < excluded.day`,
};

@Injectable()
export class SourceRepository {
  /** Stores what records share, where it is not there yet, and that it was used today. In the order of the keys. */
  async keepMany(tx: Tx, sources: readonly WorkspaceSource[]): Promise<void> {
    await inChunks(sources, (chunk) => tx.query(KEEP_SOURCES, WRITTEN.parameters(chunk)));
  }
}
