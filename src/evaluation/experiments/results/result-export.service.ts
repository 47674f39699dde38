import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type Reply, streamed } from '#platform/http';
import { RawJson, toJsonText } from '#platform/json';
import { orNotFound } from '#platform/problem';
import { cellOfText, csvFormat, EXPORT_MEDIA, exportParts, JSON_LINES } from '../../datasets';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { toResultDto } from './result.dto';
import { type Result, RESULT_FIELDS } from './result.entity';
import { ResultListRepository } from './result-list.repository';
import type { ResultExportQueryDto } from './result-query.dto';

/** Free-form members. Their cells are JSON texts even if they are null. */
const FREE_FORM: ReadonlySet<string> = new Set(['input', 'expected', 'output', 'error']);

/**
 * One column per member. Free-form members, `metadata`, `tags`, `scores` and `score_details` are JSON texts. The others are
 * plain texts: an empty cell is null.
 */
const CSV = csvFormat<Result>(RESULT_FIELDS, (row) => RESULT_FIELDS.map((name) => cellOf(name, row[name])));

function cellOf(name: string, value: Result[keyof Result]): string {
  if (value instanceof RawJson) return value.text;
  if (value === null) return FREE_FORM.has(name) ? 'null' : '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? toJsonText(value) : cellOfText(String(value));
}

const FORMATS = {
  jsonl: { ...JSON_LINES, lineOf: (row: Result) => JSON_LINES.lineOf(toResultDto(row)) },
  csv: CSV,
} as const;

/** Exports the results of experiments. */
@Injectable()
export class ResultExportService {
  constructor(
    private readonly experiments: ExperimentRepository,
    private readonly results: ResultListRepository,
  ) {}

  /** Streams results as they are stored, oldest first. Errors: 404, and those of the filters. */
  async export(
    scope: Scope,
    experimentId: string,
    { format = 'jsonl', ...filters }: ResultExportQueryDto,
  ): Promise<Reply> {
    orNotFound(await this.experiments.exists(scope, experimentId), 'experiment', experimentId);
    const parts = exportParts(this.results.batches(scope, experimentId, filters), FORMATS[format]);
    return streamed(parts, {
      type: `${EXPORT_MEDIA[format]}; charset=utf-8`,
      filename: `${experimentId}.${format}`,
    });
  }
}
