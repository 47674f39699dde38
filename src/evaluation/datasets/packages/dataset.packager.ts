import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import type { Scope } from '#platform/auth';
import type { SqlExecutor, Tx } from '#platform/db';
import { Nested, SpooledFile, validateBody } from '#platform/http';
import { parseJson } from '#platform/json';
import { problem } from '#platform/problem';
import {
  type ArtifactReference,
  findCopies,
  type InstalledArtifact,
  type InstalledCopy,
  jsonFile,
  ORDINAL_MAX,
  type PackageFile,
  type PackedFiles,
  type Packager,
  Packagers,
  pick,
  type PinnedArtifact,
  type UnpackedComponent,
  type UnpackedFile,
} from '../../../resources';
import { CreateDatasetDto } from '../datasets/dataset.dto';
import type { DatasetEntity } from '../datasets/dataset.entity';
import { DatasetRepository } from '../datasets/dataset.repository';
import { DatasetService, type InstalledDataset } from '../datasets/dataset.service';
import { type CsvOptions, headerOf, LayoutFault } from '../versions/csv/csv.columns';
import { CsvFault } from '../versions/csv/csv.scanner';
import { DatasetContent } from '../versions/dataset-reading.service';
import { CSV_MAX_BYTES, optionsOf } from '../versions/dataset-upload';
import { CsvOptionsDto } from '../versions/dataset-version.dto';
import { DatasetVersionRepository, type DatasetVersionRow } from '../versions/dataset-version.repository';
import { DatasetVersionService } from '../versions/dataset-version.service';
import { type InstalledRecords, RecordInstaller } from './record.installer';
import { RecordPacker, RECORDS_MAX_BYTES } from './record.packer';

const DATASET = 'dataset.json';
const RECORDS = 'records.jsonl';
/** Has no version number in its name, because numbers differ between organizations. Sorts after `dataset.json`. */
const CSV = 'version.csv';

const COPIES = { table: 'datasets', id: 'dataset_id' };

/** The content of `dataset.json`. */
class PackedDatasetDto extends CreateDatasetDto {
  /** How the columns of the CSV file are read. */
  @IsOptional()
  @Nested(() => CsvOptionsDto)
  csv?: CsvOptionsDto | null;
}

/** The parts of a dataset that are packed. */
interface PinnedDataset {
  dataset: DatasetEntity;
  csv: DatasetVersionRow | null;
  hasRecords: boolean;
}

/** Packs datasets with their records and newest CSV version, or one CSV version of them, and installs them. */
@Injectable()
export class DatasetPackager implements Packager {
  readonly kind = 'dataset';

  constructor(
    packagers: Packagers,
    private readonly datasets: DatasetRepository,
    private readonly service: DatasetService,
    private readonly versions: DatasetVersionRepository,
    private readonly csvs: DatasetVersionService,
    private readonly csvContent: DatasetContent,
    private readonly packer: RecordPacker,
    private readonly installer: RecordInstaller,
  ) {
    packagers.add(this);
  }

  /**
   * Pins a dataset, or one of its CSV versions. A reference with the id or number of a CSV version pins only that file. Any
   * other reference pins the whole dataset at its current revision: `version_ordinal` is the revision, and `version_id` is
   * `<dataset_id>.<revision>`. Earlier revisions cannot be pinned, because only records keep their earlier versions.
   */
  async pin(tx: Tx, scope: Scope, reference: ArtifactReference): Promise<PinnedArtifact | null> {
    const dataset = await this.datasets.lock(tx, scope, reference.artifact_id, 'share');
    if (!dataset || dataset.archived_at) return null;
    const { dataset_id, revision, latest_version } = dataset;
    const { version_id = null, version_ordinal = null } = reference;
    const wholeId = `${dataset_id}.${revision}`;
    if (version_id === wholeId || (version_id === null && version_ordinal === null)) {
      if (version_ordinal !== null && version_ordinal !== revision) return null;
      const csv =
        latest_version === null ? null : await this.versions.find(scope, dataset_id, latest_version, tx);
      return this.toPinned({ dataset, csv, hasRecords: true }, wholeId, revision);
    }
    const csv = await this.findCsv(tx, scope, reference);
    return csv && this.toPinned({ dataset, csv, hasRecords: false }, csv.version_id, csv.version);
  }

  /** Returns the files of a package. Errors: 422 for more records than a package can hold. */
  async files(on: SqlExecutor, scope: Scope, { content }: PinnedArtifact): Promise<PackedFiles> {
    const { dataset, csv, hasRecords } = content as PinnedDataset;
    const members = pick(dataset, [
      'name',
      'description',
      'metadata',
      'tags',
      'input_schema',
      'expected_schema',
    ]);
    const files: PackageFile[] = [
      jsonFile(DATASET, { ...members, ...(csv && { csv: optionsOfVersion(csv) }) }),
    ];
    const records =
      hasRecords && dataset.record_count > 0 ? await this.packer.pack(on, scope, dataset) : null;
    if (records) files.push(fileOf(RECORDS, records));
    if (csv) {
      const { size_bytes, sha256 } = csv;
      files.push({ path: CSV, size_bytes, sha256, content: () => this.csvContent.bytes(scope, csv) });
    }
    return { files, close: async () => records?.close() };
  }

  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>> {
    return findCopies(tx, COPIES, scope, artifactIds);
  }

  /** Installs the files of a package one by one. `dataset.json` is the first, because files are sorted. */
  async install(
    tx: Tx,
    scope: Scope,
    { key, files, from, copy }: UnpackedComponent,
  ): Promise<InstalledArtifact> {
    let installed: InstalledDataset | undefined;
    let records: InstalledRecords | undefined;
    let csvOptions: CsvOptionsDto = {};
    let isCsvNew = false;
    for await (const file of files) {
      const row = installed?.row;
      if (file.path === DATASET) {
        const dto = await this.readDataset(scope, file);
        csvOptions = dto.csv ?? {};
        installed = await this.service.install(tx, scope, dto, from, copy?.artifact_id ?? null);
      } else if (row && file.path === RECORDS) {
        const install = (spool: SpooledFile) => this.installer.install(tx, scope, row, spool);
        records = await withSpooledFile(file, RECORDS_MAX_BYTES, install);
      } else if (row && file.path === CSV) {
        const options = optionsOf(csvOptions);
        const install = (spool: SpooledFile) => this.installCsv(tx, scope, row.dataset_id, spool, options);
        isCsvNew = await withSpooledFile(file, CSV_MAX_BYTES, install);
      } else throw new Error(`The package has an unexpected file ${file.path}.`);
    }
    if (!installed) throw new Error(`The component ${key} has no ${DATASET}.`);
    if (installed.change !== 'created') {
      records ??= await this.installer.install(tx, scope, installed.row, null);
    }
    const { dataset_id } = installed.row;
    const { name, revision } = (await this.datasets.find(scope, dataset_id, tx))!;
    const isUpdated = installed.change === 'unchanged' && (isCsvNew || records?.isChanged === true);
    return {
      kind: this.kind,
      artifact_id: dataset_id,
      version_id: `${dataset_id}.${revision}`,
      version_ordinal: revision,
      name,
      change: isUpdated ? 'updated' : installed.change,
      ...(records && records.omittedCount > 0 && { setup: omitted(records.omittedCount) }),
    };
  }

  private async readDataset(scope: Scope, file: UnpackedFile): Promise<PackedDatasetDto> {
    const members = parseJson(await buffer(file.content));
    return validateBody(PackedDatasetDto, { ...(members as object), workspace_id: scope.workspaceId });
  }

  /**
   * Installs the CSV file of a release. Returns whether the dataset did not have it. Errors: 422 for a file that exceeds a
   * limit of this service.
   */
  private async installCsv(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    file: SpooledFile,
    options: CsvOptions,
  ): Promise<boolean> {
    try {
      return await this.csvs.install(tx, scope, datasetId, file, options);
    } catch (error) {
      if (error instanceof CsvFault) {
        throw problem.validationFailed(`Line ${error.line} of ${CSV} in the release ${error.detail}.`);
      }
      if (error instanceof LayoutFault) {
        throw problem.validationFailed(
          `The options of ${CSV} in the release: ${error.pointer} ${error.detail}.`,
        );
      }
      throw error;
    }
  }

  private async findCsv(
    tx: Tx,
    scope: Scope,
    reference: ArtifactReference,
  ): Promise<DatasetVersionRow | null> {
    const { artifact_id, version_id = null, version_ordinal } = reference;
    const ordinal = version_ordinal ?? null;
    if (ordinal !== null && !(ordinal >= 1 && ordinal <= ORDINAL_MAX)) return null;
    const csv =
      version_id === null
        ? await this.versions.find(scope, artifact_id, ordinal!, tx)
        : await this.versions.findById(scope, artifact_id, version_id, tx);
    return csv && (ordinal ?? csv.version) === csv.version ? csv : null;
  }

  private toPinned(content: PinnedDataset, versionId: string, ordinal: number): PinnedArtifact {
    const { dataset_id: artifact_id, name, acquired_from } = content.dataset;
    const version = { version_id: versionId, version_ordinal: ordinal };
    return { kind: this.kind, artifact_id, ...version, name, acquired_from, dependencies: [], content };
  }
}

const omitted = (count: number): string =>
  `${count === 1 ? '1 record' : `${count} records`} of the release ${count === 1 ? 'is' : 'are'} not in the dataset, because your own records have the same external_id. Change the external_id of your records to get them with the next release.`;

/** Returns options that read the file in the same way. Columns that they do not name have become metadata. */
function optionsOfVersion({ case_id_column, mapping }: DatasetVersionRow): object {
  const { value_columns: values = [] } = mapping;
  const partOf = (part: readonly string[]): string | readonly string[] =>
    part.find((column) => values.includes(column)) ?? part;
  const { expected, input, metadata, tags } = mapping;
  const isByName = values.includes(metadata[headerOf(metadata, ['metadata'])] ?? '');
  return {
    case_id_column,
    mapping: {
      expected: partOf(expected),
      input: partOf(input),
      metadata: isByName ? metadata : partOf(metadata),
      tags,
    },
  };
}

const fileOf = (path: string, file: SpooledFile): PackageFile => ({
  path,
  size_bytes: file.size,
  sha256: file.sha256,
  content: () => file.chunks(),
});

/** Copies a file of a package to a temporary file, and runs `work` with it. */
async function withSpooledFile<Result>(
  { path, size_bytes, content }: UnpackedFile,
  maxBytes: number,
  work: (file: SpooledFile) => Promise<Result>,
): Promise<Result> {
  if (size_bytes > maxBytes) throw new Error(`${path} of the package is too large.`);
  const spool = await SpooledFile.create();
  try {
    for await (const chunk of content) await spool.append(chunk);
    spool.finish();
    return await work(spool);
  } finally {
    await spool.close();
  }
}
