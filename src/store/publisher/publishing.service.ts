import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { FairLimiter } from '#platform/concurrency';
import { Database, type Tx } from '#platform/db';
import { checkValues, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { RawJson } from '#platform/json';
import { problem } from '#platform/problem';
import { BlobStore, type WrittenBlob } from '#platform/storage';
import { OrgSigningService } from '../../registry';
import { checkNotMoved, stamps, narrowScope, WorkspaceAccess } from '../../resources';
import type {
  CreatePublisherItemDto,
  CreatePublisherItemReleaseDto,
  PublishedArtifactDto,
} from '../items/store-item-bodies.dto';
import type { Action, StoreItemEntity } from '../items/store-item.entity';
import type { PublisherItemDto } from '../items/store-item.dto';
import { StoreItemService, textsOf } from '../items/store-item.service';
import { packArchive, untilAborted } from '../package/package-archive';
import { agentProfileOf, manifestOf } from './manifest';
import { type BuiltPackage, PackageBuilder } from './package-builder';
import { type PinnedNode, Pinning } from './pinning';

/** The type of the signature of a release (`typ`). */
const SIGNATURE_TYPE = 'store-release+jws';

/** The numbers of packages that a process builds at once, per organization and in total. Further ones wait. */
const PACKAGES_PER_ORG = 2;
const PACKAGES_MAX = 6;
const WAITING_MAX = 50;

/** A stored package that a transaction is about to make permanent. */
interface WrittenPackage {
  nodes: readonly PinnedNode[];
  built: BuiltPackage;
  blob: WrittenBlob;
}

/**
 * Publishes resources. A first transaction pins the resource and its dependencies. The package is then built and stored
 * without a transaction, because it may be large. A last transaction makes it permanent if everything in it is still
 * live. Versions never change, so the package contains exactly what was pinned.
 */
@Injectable()
export class PublishingService {
  private readonly limiter = new FairLimiter({
    share: PACKAGES_PER_ORG,
    concurrency: PACKAGES_MAX,
    maxWaiting: WAITING_MAX,
  });

  constructor(
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly items: StoreItemService,
    private readonly pinning: Pinning,
    private readonly builder: PackageBuilder,
    private readonly blobs: BlobStore,
    private readonly signing: OrgSigningService,
  ) {}

  /**
   * Publishes a resource as a new item. Errors: 400 for an unknown workspace, resource, version or organization; 403;
   * 409 for an archived workspace, or a component that is not live; 422 for
   * unknown values and for a package that cannot be built; 503 if the storage fails or too many packages wait.
   */
  publish(
    scope: OrgScope,
    dto: CreatePublisherItemDto,
    signal: AbortSignal,
  ): Promise<Versioned<PublisherItemDto>> {
    const { workspace_id, artifact, actions, audience } = dto;
    const owner = { orgId: scope.orgId, workspaceId: workspace_id };
    return this.limiter.run(owner, signal, async () => {
      const pinned = await this.database.transactionAhead(async (tx) => {
        const workspace = await this.access.enter(tx, scope, workspace_id, ['publisher']);
        checkValues(dto);
        const nodes = await this.pinning.pin(tx, workspace, referenceOf(artifact));
        return { workspace, nodes, policy: await this.items.audienceOf(tx, audience ?? NOBODY) };
      });
      const { workspace, nodes, policy } = pinned;
      return this.write(workspace, nodes, signal, async (tx, written) => {
        await this.access.enter(tx, scope, workspace_id, ['publisher']);
        await this.keep(tx, workspace, written);
        const store_item_id = newId('item');
        return this.items.add(tx, scope, {
          ...stamps(scope),
          store_item_id,
          org_id: scope.orgId,
          workspace_id,
          artifact_kind: artifact.kind,
          artifact_id: artifact.artifact_id,
          artifact_erased: false,
          ...NO_TEXTS,
          ...textsOf(dto),
          ...(await this.releaseOf(tx, scope, store_item_id, written, actions)),
          ...policy,
          policy_generation: 1,
          is_listed: false,
          can_acquire: false,
          is_reviewed: false,
          generation: 1,
        } as Omit<StoreItemEntity, 'ordinal'>);
      });
    });
  }

  /**
   * Publishes the next release of an item. Errors: those of `publish`; 404; 409 for a withdrawn item; 422 for a
   * resource, workspace or audience other than the item's.
   */
  release(
    scope: OrgScope,
    id: string,
    dto: CreatePublisherItemReleaseDto,
    signal: AbortSignal,
  ): Promise<Versioned<PublisherItemDto>> {
    return this.limiter.run(scope.orgId, signal, async () => {
      const { workspace, nodes } = await this.database.transactionAhead(async (tx) => {
        const item = await this.items.lockForRelease(tx, scope, id);
        await this.access.holdOpen(tx, scope, item.workspace_id);
        checkSame(item, dto);
        checkValues(dto);
        const placed = narrowScope(scope, item.workspace_id);
        const { artifact_kind: kind, artifact_id } = item;
        const { version_id = null } = dto.artifact ?? {};
        return {
          workspace: placed,
          nodes: await this.pinning.pin(tx, placed, { kind, artifact_id, version_id }),
        };
      });
      return this.write(workspace, nodes, signal, async (tx, written) => {
        const item = await this.items.lockForRelease(tx, scope, id);
        await this.access.holdOpen(tx, scope, item.workspace_id);
        await this.keep(tx, workspace, written);
        return this.items.release(tx, scope, item, {
          ...textsOf(dto),
          version_label: dto.version_label ?? null,
          release_notes: dto.release_notes ?? null,
          ...(await this.releaseOf(tx, scope, id, written, dto.actions ?? item.actions)),
        });
      });
    });
  }

  /** Builds and stores a package, then runs `work`, which makes it permanent, in a transaction. */
  private write<Result>(
    workspace: Scope,
    nodes: readonly PinnedNode[],
    signal: AbortSignal,
    work: (tx: Tx, written: WrittenPackage) => Promise<Result>,
  ): Promise<Result> {
    return this.builder.build(workspace, nodes, async (built) => {
      const blob = await this.blobs.write(workspace, untilAborted(signal, packArchive(built.entries)));
      return this.blobs.keepOrDiscard([blob], () =>
        this.database.transaction((tx) => work(tx, { nodes, built, blob })),
      );
    });
  }

  private async keep(tx: Tx, workspace: Scope, { nodes, blob }: WrittenPackage): Promise<void> {
    await this.pinning.check(tx, workspace, nodes);
    await this.blobs.keep(tx, workspace, blob);
  }

  /** Returns the columns of a new release. The release is signed if the organization has a signing key. */
  private async releaseOf(
    tx: Tx,
    scope: OrgScope,
    store_item_id: string,
    { built, blob }: WrittenPackage,
    actions: Action[],
  ): Promise<Partial<StoreItemEntity>> {
    const profile = agentProfileOf(built.components);
    const release_id = newId('rel');
    const signed = {
      store_item_id,
      release_id,
      publisher_org_id: scope.orgId,
      sha256: blob.sha256,
      size_bytes: blob.size,
      file_count: built.entries.length,
    };
    const { sha256, size_bytes, file_count } = signed;
    return {
      release_id,
      publication_id: newId('pub'),
      actions,
      manifest: new RawJson(JSON.stringify(manifestOf(built.components, actions))),
      agent_profile: profile && new RawJson(JSON.stringify(profile)),
      sha256,
      size_bytes,
      file_count,
      signature: await this.signing.sign(scope, signed, SIGNATURE_TYPE, tx),
    };
  }
}

const NOBODY = { is_public: false, org_ids: [] };

const NO_TEXTS = {
  tagline: null,
  artwork: null,
  topics: [],
  highlights: [],
  version_label: null,
  release_notes: null,
};

const referenceOf = ({ kind, artifact_id, version_id = null }: PublishedArtifactDto) => ({
  kind,
  artifact_id,
  version_id,
});

/** Throws 422 if a new release names a resource, workspace or audience other than the item's. */
function checkSame(
  item: StoreItemEntity,
  { workspace_id, artifact, audience }: CreatePublisherItemReleaseDto,
) {
  checkNotMoved(item, workspace_id);
  const errors = [];
  if (artifact && artifact.kind !== item.artifact_kind) {
    errors.push({ pointer: '/artifact/kind', detail: `must be ${item.artifact_kind}, the kind of the item` });
  }
  if (artifact && artifact.artifact_id !== item.artifact_id) {
    errors.push({
      pointer: '/artifact/artifact_id',
      detail: `must be ${item.artifact_id}. To publish another resource, create a new item`,
    });
  }
  if (audience && !hasAudience(item, audience)) {
    errors.push({ pointer: '/audience', detail: 'must be the current one. To change it, use PUT …/policy' });
  }
  if (errors.length > 0) throw problem.validationFailed(errors);
}

const hasAudience = (
  item: StoreItemEntity,
  { is_public, org_ids = [] }: NonNullable<CreatePublisherItemReleaseDto['audience']>,
): boolean =>
  is_public === item.is_public && [...new Set(org_ids)].sort().join() === [...item.org_ids].sort().join();
