import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { TimeSlice } from '#platform/concurrency';
import { inChunks, type Tx } from '#platform/db';
import type { SpooledFile } from '#platform/http';
import type { DatasetEntity } from '../datasets/dataset.entity';
import { DatasetService } from '../datasets/dataset.service';
import { type ExistingRecord, RecordRepository } from '../records/record.repository';
import { RecordWriteRepository } from '../records/record-write.repository';
import { checkImport } from '../records/import/import-check';
import { ImportSources } from '../records/import/import-request';
import { type ImportSource, textsOf } from '../records/import/import-source';
import { ImportWriter } from '../records/import/import-writer';
import { RecordExportRepository } from '../records/export/record-export.repository';
import { lineOf } from './record.packer';

/** The effect of a release on the records of a copy. */
export interface InstalledRecords {
  isChanged: boolean;
  /** Records of the release that were not installed, because users' own records have their `external_id`. */
  omittedCount: number;
}

/** The difference between a release and the live records of its copy. */
interface Difference {
  /** The lines of the release that no live record has. */
  missing: Set<number>;
  /** Records that an earlier release installed, nobody has changed since, and this release does not have. */
  obsolete: Set<string>;
}

/** Installs the records of a release in copies of datasets. Takes about 200 bytes of memory per record of the release. */
@Injectable()
export class RecordInstaller {
  constructor(
    private readonly datasets: DatasetService,
    private readonly records: RecordRepository,
    private readonly writes: RecordWriteRepository,
    private readonly exports: RecordExportRepository,
    private readonly sources: ImportSources,
  ) {}

  /**
   * Adds the records of the release that the copy lacks, and archives those that an earlier release installed and this one
   * does not have. A new record with the `external_id` of such a record becomes its next version. Records that users of the
   * copy created or changed stay as they are. Records are compared by their content.
   *
   * Does not check the records against the schemas of the dataset, because the publisher's records may be older than these.
   *
   * @param dataset locked
   * @param file JSON Lines, or null for a release without records
   */
  async install(
    tx: Tx,
    scope: Scope,
    dataset: DatasetEntity,
    file: SpooledFile | null,
  ): Promise<InstalledRecords> {
    const { missing, obsolete } = await this.compare(tx, scope, dataset, file);
    const all = missing.size > 0 ? this.sources.jsonLines(file!) : EMPTY;
    // A fault here is a fault of the package, whose records were valid when it was built.
    const { lineOf: externalIds } = await checkImport(only(all, missing), {
      faultsOf: noFaults,
      onConflict: 'update',
    });
    const { updated, omittedCount } = await this.assign(tx, scope, dataset, externalIds, missing, obsolete);
    await this.archive(tx, scope, dataset, [...obsolete]);
    const writer = new ImportWriter(
      {
        tx,
        scope,
        datasetId: dataset.dataset_id,
        onConflict: 'update',
        existing: updated,
        toCreate: missing.size - updated.size,
        isAcquired: true,
        undecided: new Map(),
      },
      this.datasets,
      this.records,
      this.writes,
    );
    if (missing.size > 0) {
      for await (const lines of only(all, missing).lines()) for (const line of lines) await writer.add(line);
    }
    await writer.finish();
    return { isChanged: missing.size + obsolete.size > 0, omittedCount };
  }

  private async compare(
    tx: Tx,
    scope: Scope,
    { dataset_id: datasetId, revision }: DatasetEntity,
    file: SpooledFile | null,
  ): Promise<Difference> {
    const digests = file ? await this.digestsOf(file) : [];
    const unmatched = new Map<string, number>();
    for (const digest of digests) unmatched.set(digest, (unmatched.get(digest) ?? 0) + 1);
    const obsolete = new Set<string>();
    for await (const records of this.exports.batches(scope, { datasetId, revision }, tx)) {
      const unmatchedIds: string[] = [];
      for (const record of records) {
        if (!take(unmatched, digestOf(lineOf(record)))) unmatchedIds.push(record.dataset_record_id);
      }
      if (unmatchedIds.length === 0) continue;
      for (const id of await this.records.unchangedSinceInstall(tx, scope, unmatchedIds)) obsolete.add(id);
    }
    const missing = new Set<number>();
    for (const [index, digest] of digests.entries()) if (take(unmatched, digest)) missing.add(index + 1);
    return { missing, obsolete };
  }

  private async digestsOf(file: SpooledFile): Promise<string[]> {
    const digests: string[] = [];
    const slice = new TimeSlice();
    for await (const texts of textsOf(file, this.sources.lineBytes)) {
      for (const text of texts) {
        if (text === null)
          throw new Error(`Line ${digests.length + 1} of the package's records is too long.`);
        digests.push(digestOf(text));
        if (slice.isOver()) await slice.yield();
      }
    }
    return digests;
  }

  /**
   * Handles the lines whose `external_id` a live record has. A line that updates an obsolete record removes it from
   * `obsolete`. Any other line is omitted, and removed from `missing`.
   */
  private async assign(
    tx: Tx,
    scope: Scope,
    dataset: DatasetEntity,
    externalIds: ReadonlyMap<string, number>,
    missing: Set<number>,
    obsolete: Set<string>,
  ): Promise<{ updated: Map<string, ExistingRecord>; omittedCount: number }> {
    const updated = new Map<string, ExistingRecord>();
    let omittedCount = 0;
    const find = (ids: readonly string[]) => this.records.findExisting(tx, scope, dataset.dataset_id, ids);
    for (const record of await inChunks([...externalIds.keys()], find)) {
      if (obsolete.delete(record.dataset_record_id)) {
        updated.set(record.external_id, record);
      } else {
        missing.delete(externalIds.get(record.external_id)!);
        omittedCount++;
      }
    }
    return { updated, omittedCount };
  }

  private async archive(tx: Tx, scope: Scope, { dataset_id }: DatasetEntity, ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    const change = await this.datasets.beginChange(tx, scope, dataset_id, -ids.length);
    await inChunks(ids, async (some) => {
      await this.records.setArchived(tx, scope, some, true, change);
      return [];
    });
  }
}

const EMPTY: ImportSource = { async *lines() {}, checkOpen: () => undefined };

/** Returns a source with only the chosen lines. */
const only = (source: ImportSource, lineNumbers: ReadonlySet<number>): ImportSource => ({
  async *lines() {
    for await (const lines of source.lines()) yield lines.filter(({ line }) => lineNumbers.has(line));
  },
  checkOpen: () => source.checkOpen(),
});

const noFaults = (records: readonly unknown[]) => Promise.resolve(records.map(() => []));

const digestOf = (line: string | Buffer): string => createHash('sha256').update(line).digest('base64');

/** Takes one off the count of a key. Returns false if the count is 0. */
function take(counts: Map<string, number>, key: string): boolean {
  const count = counts.get(key) ?? 0;
  if (count > 0) counts.set(key, count - 1);
  return count > 0;
}
