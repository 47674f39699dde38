import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx, Where, WorkspaceRepository } from '#platform/db';
import { toJsonText } from '#platform/json';
import { BY_NAME, listPage, type RowPage, addCreated } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import type { DatasetSearchDto } from './dataset.dto';
import { DatasetEntity } from './dataset.entity';

explainConstraint('datasets_name', 'conflict', 'The workspace has a dataset of this name already.');

@Injectable()
export class DatasetRepository extends WorkspaceRepository<DatasetEntity> {
  constructor(database: Database) {
    super(database, DatasetEntity, 'dataset_id');
  }

  /** A page of those that a list, or a search, asks for: a list has some of a search's filters. */
  list(scope: Scope, query: DatasetSearchDto): Promise<RowPage<DatasetEntity>> {
    const where = new Where(scope.key).addIf(query.name, 'name COLLATE "C" = ?');
    if (query.tag !== undefined) where.add('tags @> ARRAY[?::text]', query.tag);
    where.addIf(query.tags, 'tags @> ?::text[]').addSearch(query.q);
    if (query.metadata) where.add('metadata::jsonb @> ?::jsonb', toJsonText(query.metadata));
    addCreated(where, { prefix: 'ds', id: 'dataset_id' }, query);
    return listPage<DatasetEntity>(
      this.database,
      {
        columns: '*',
        from: 'datasets',
        where,
        id: 'dataset_id',
        sorts: BY_NAME,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /**
   * Raises the revision, under which one change of the dataset's records is written, and counts them. The row stays
   * locked until the transaction ends, so revisions are in the order in which their changes commit.
   */
  async nextRevision(tx: Tx, scope: Scope, id: string, recordsAdded: number, at: Date): Promise<number> {
    const [row] = await tx.query<{ revision: number }>(
      `UPDATE datasets SET revision = revision + 1, record_count = record_count + $3, updated_at = $4
       WHERE dataset_id = $1 AND workspace_id = $2 RETURNING revision`,
      [id, scope.workspaceId, recordsAdded, at],
    );
    return row!.revision;
  }

  /** Gives out the number of the dataset's next CSV version, which is a change of the dataset; the row stays locked. */
  async nextVersion(tx: Tx, scope: Scope, id: string, at: Date): Promise<number> {
    const [row] = await tx.query<{ latest_version: number }>(
      `UPDATE datasets
       SET latest_version = coalesce(latest_version, 0) + 1, revision = revision + 1, updated_at = $3
       WHERE dataset_id = $1 AND workspace_id = $2 RETURNING latest_version`,
      [id, scope.workspaceId, at],
    );
    return row!.latest_version;
  }
}
