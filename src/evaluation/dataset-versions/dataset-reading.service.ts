import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type Reply, streamed } from '#platform/http';
import { decodeCursor, encodeCursor, type Page, PAGE_SIZE_DEFAULT } from '#platform/paging';
import { problem } from '#platform/problem';
import { FairTurns } from '#platform/turns';
import { DatasetContent } from './dataset-content';
import { CSV_MEDIA } from './dataset-upload';
import type { DatasetCaseDto, DatasetCaseListQueryDto } from './dataset-version.dto';
import { toDatasetCaseDto } from './dataset-version.mapper';
import { DatasetVersionService } from './dataset-version.service';

/** Rows are listed in their order, and in no other. */
const BY_ROW = 'row';

/** Pages that a process reads at once: each may take some 60 MiB meanwhile. Others wait, in turns of their workspaces. */
const PAGES_AT_ONCE = 2;
const PAGES_WAITING = 200;

@Injectable()
export class DatasetReadingService {
  private readonly turns = new FairTurns(PAGES_AT_ONCE, PAGES_WAITING);

  constructor(
    private readonly versions: DatasetVersionService,
    private readonly content: DatasetContent,
  ) {}

  /** The very bytes of a version, as a stream. */
  async bytes(scope: Scope, datasetId: string, number: number): Promise<Reply> {
    const version = await this.versions.find(scope, datasetId, number);
    return streamed(this.content.bytes(scope, version), {
      type: `${CSV_MEDIA}; charset=utf-8`,
      length: version.size_bytes,
      filename: `${datasetId}-v${number}.csv`,
      sha256: version.sha256,
    });
  }

  /**
   * A page of a version's rows, as cases. It ends early when it has `PAGE_BYTES` of them. Errors: 503
   * `service_overloaded` where too many wait for theirs.
   */
  async cases(
    scope: Scope,
    datasetId: string,
    number: number,
    query: DatasetCaseListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<DatasetCaseDto>> {
    const before = rowsBefore(query);
    const version = await this.versions.find(scope, datasetId, number);
    const limit = query.limit ?? PAGE_SIZE_DEFAULT;
    const cases = await this.turns.take(scope, signal, () =>
      this.content.page(scope, version, before + 1, limit, signal),
    );
    const last = cases.at(-1)?.row;
    return {
      items: cases.map(toDatasetCaseDto),
      page: {
        limit,
        offset: query.offset ?? 0,
        total: version.row_count,
        next_cursor:
          last !== undefined && last < version.row_count
            ? encodeCursor({ sort: BY_ROW, key: null, id: String(last) })
            : null,
      },
    };
  }
}

/** The rows that come before a page. Errors: 400 `invalid_query` for a cursor of another list, or beside an offset. */
function rowsBefore({ cursor, offset }: DatasetCaseListQueryDto): number {
  if (cursor === undefined) return offset ?? 0;
  if (offset !== undefined) throw problem.invalidQuery('cursor', 'cannot be combined with offset');
  const { sort, key, id } = decodeCursor(cursor);
  if (sort !== BY_ROW || key !== null || !/^[1-9]\d{0,8}$/.test(id)) {
    throw problem.invalidQuery('cursor', 'belongs to another list or sort');
  }
  return Number(id);
}
