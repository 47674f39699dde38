import type { Pages } from '../api/calls.cjs';
import type {
  Acquisition,
  CatalogueItem,
  CreatePublisherItem,
  PublisherItem,
  PublisherItemPolicy,
  StoreItem,
  UpgradeChange,
} from '../api/types.cjs';
import { type ListOf, Resource } from './resource.js';

/** The store: agents, skills, servers, files, datasets and scorers that others share. */
export class Store extends Resource {
  /** Searches the items that your organization may see, by the words of their names and taglines. */
  search(words?: string, filters: ListOf<'listStoreItems', 'q'> = {}): Pages<CatalogueItem> {
    return this.api.listStoreItems({ ...filters, ...(words !== undefined && { q: words }) });
  }

  /** Returns an item of the store. Throws 404 if there is none that you may see. */
  get(itemId: string): Promise<StoreItem> {
    return this.api.getStoreItem({ store_item_id: itemId });
  }

  /**
   * Publishes a resource of the workspace as a new item. Without a policy, only your organization sees it, and nobody can
   * install it.
   */
  async publish(item: CreatePublisherItem, policy?: PublisherItemPolicy): Promise<PublisherItem> {
    const published = await this.api.createPublisherItem({ body: item });
    const { store_item_id } = published;
    if (!policy) return published;
    await this.api.setPublisherItemPolicy({ store_item_id, body: policy });
    return this.api.getPublisherItem({ store_item_id });
  }

  /** Installs an item in the workspace: copies of everything that it has. An item that is installed is returned as it is. */
  install(itemId: string, { releaseId }: { releaseId?: string } = {}): Promise<Acquisition> {
    const body = releaseId === undefined ? {} : { release_id: releaseId };
    return this.api.acquireStoreItem({ store_item_id: itemId, body });
  }

  /** Lists what the workspace has installed, newest first. `is_upgradable` says whether there is a newer release. */
  installed(filters: ListOf<'listAcquisitions'> = {}): Pages<Acquisition> {
    return this.api.listAcquisitions({ ...this.workspace, ...filters });
  }

  /** Upgrades what an acquisition has installed to the newest release, or to this one. */
  upgrade(
    acquisitionId: string,
    { releaseId }: { releaseId?: string } = {},
  ): Promise<Acquisition & { changes: UpgradeChange[] }> {
    const body = releaseId === undefined ? {} : { release_id: releaseId };
    return this.api.upgradeAcquisition({ acquisition_id: acquisitionId, body });
  }
}
