import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { BlobStore } from '#platform/storage';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';
import { StoreItemRepository } from './store-item.repository';

/** Items per transaction. The newest come first, because deleting them renumbers the fewest others. */
const BATCH = 100;

/** Erases the items that a workspace has published, with their packages. Copies in other organizations stay. */
@Injectable()
export class StoreItemsStep implements ErasureStep {
  readonly name = 'store items';
  readonly subjects = ['workspace'] as const;
  readonly phase = 'erase';

  constructor(
    steps: ErasureSteps,
    private readonly items: StoreItemRepository,
    private readonly blobs: BlobStore,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, erasure: ErasureRun): Promise<ErasureBatch> {
    if (erasure.isDryRun) {
      const { items, releases } = await this.items.countIn(tx, erasure);
      return { counts: { store_items: items, store_releases: releases }, next: null };
    }
    const { items, releases, sha256s } = await this.items.deleteIn(tx, erasure, BATCH);
    this.blobs.release(tx, erasure, sha256s);
    return {
      counts: { store_items: items, store_releases: releases },
      next: items < BATCH ? null : 'more',
    };
  }
}
