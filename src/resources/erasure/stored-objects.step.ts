import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { BlobStore } from '#platform/storage';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from './erasure-steps';

/** Rows per statement. */
const BATCH = 500;
/** Objects that one transaction deletes from the storage. */
const OBJECTS = 50;
/** The cursor of the second part: the objects. A digest has only hexadecimal digits. */
const OBJECTS_CURSOR = 'objects';

/**
 * Erases the bytes of files and packages that nothing refers to once the rows of a workspace or an organization are erased: first
 * their rows, then their objects in the storage, so that the receipt tells that they are gone.
 */
@Injectable()
export class StoredObjectsStep implements ErasureStep {
  readonly name = 'stored objects';
  readonly subjects = ['workspace', 'org'] as const;
  readonly phase = 'copies';

  constructor(
    steps: ErasureSteps,
    private readonly blobs: BlobStore,
  ) {
    steps.add(this);
  }

  async run(
    tx: Tx,
    { subject, isOfOrg, orgId, isDryRun }: ErasureRun,
    cursor: string | null,
  ): Promise<ErasureBatch> {
    // the bytes of an organization are erased once, after its workspaces
    if (isDryRun || (isOfOrg && subject === 'workspace')) return { counts: {}, next: null };
    if (cursor !== OBJECTS_CURSOR) {
      const { count, next } = await this.blobs.releaseUnreferenced(tx, { orgId }, cursor, BATCH);
      return { counts: { stored_objects: count }, next: next ?? OBJECTS_CURSOR };
    }
    const deleted = await this.blobs.deleteReleased(tx, { orgId }, OBJECTS);
    return { counts: {}, next: deleted < OBJECTS ? null : OBJECTS_CURSOR };
  }
}
