import { Injectable } from '@nestjs/common';
import { withDeadline } from '#platform/concurrency';
import { MARKER, ObjectStorage, storageUnavailable } from './object-storage';
import { StorageMarkRepository } from './storage-mark.repository';

/** Why a storage must not be used: it lacks its marker, or has the marker of another installation. */
export interface MarkFault {
  kind: 'missing' | 'other';
  /** A sentence for the operator. */
  message: string;
}

/** Longest write of the first marker, in milliseconds. */
const WRITE_MS = 4_000;

/**
 * The marker of the storage: an object with the id of the installation. Without it, bytes would go to an empty directory where a
 * volume is not mounted, and would be lost when it is mounted again.
 */
@Injectable()
export class StorageMark {
  private installationId: string | undefined;
  private isRecorded = false;

  constructor(private readonly marks: StorageMarkRepository) {}

  /**
   * Checks the marker. Without `isReadOnly`, the first storage of an installation gets its marker here.
   *
   * @throws 503 `storage_unavailable` if the storage cannot be reached
   */
  async findFault(storage: ObjectStorage, isReadOnly = false): Promise<MarkFault | null> {
    this.installationId ??= await this.marks.installationId();
    let marker = await storage.readMarker();
    if (marker === null && !(await this.marks.isMarked())) {
      if (isReadOnly) return null;
      // with a deadline, because starting processes wait for the locked record
      await this.marks.recordFirst(() =>
        withDeadline(this.write(storage), WRITE_MS, () =>
          storageUnavailable(new Error('The storage did not take its marker in time.')),
        ),
      );
      marker = await storage.readMarker();
    }
    if (marker === null) return missingMarker(storage);
    const owner = installationOf(marker);
    if (owner !== this.installationId) return otherMarker(storage, owner, this.installationId);
    if (!this.isRecorded && !isReadOnly) {
      await this.marks.record();
      this.isRecorded = true;
    }
    return null;
  }

  /** Accepts a storage that lacks its marker, because an operator has moved it. */
  async accept(storage: ObjectStorage): Promise<void> {
    this.installationId ??= await this.marks.installationId();
    await this.write(storage);
    await this.marks.record();
  }

  private write(storage: ObjectStorage): Promise<void> {
    return storage.writeMarker(`${JSON.stringify({ installation_id: this.installationId })}\n`);
  }
}

const ACCEPT = 'agent-registry-service verify-storage --mark';

const missingMarker = ({ name }: ObjectStorage): MarkFault => ({
  kind: 'missing',
  message: `The ${name} lacks the marker of this installation (${MARKER}); check that its volume is mounted and that STORAGE_URL is right, or run "${ACCEPT}" if you moved the storage.`,
});

const otherMarker = ({ name }: ObjectStorage, owner: string | null, own: string): MarkFault => ({
  kind: 'other',
  message: `The ${name} has the marker (${MARKER}) of ${owner === null ? 'something else' : `installation ${owner}`}, but the database belongs to installation ${own}; check STORAGE_URL and DATABASE_URL, or, if nothing else uses the storage, delete that marker and run "${ACCEPT}".`,
});

/** Returns the id in a marker; null if there is none. */
function installationOf(marker: string): string | null {
  try {
    const { installation_id: id } = JSON.parse(marker) as { installation_id?: unknown };
    return typeof id === 'string' ? id : null;
  } catch {
    return null;
  }
}
