import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { rootLogger } from '#platform/logging';
import { ALL_FEATURES, type ChatFeatures } from './chat-request';
import { ChatFeaturesRepository } from './chat-features.repository';

/** How long a process goes by what it has read, in ms, and for how many models it remembers. */
const REMEMBERED_MS = 5_000;
const MODELS_MAX = 1_000;

/**
 * What each model takes, as it was learned from its refusals: the same in all processes, so that a preview shows what
 * would be sent. After a day it is tried anew, because servers learn, too.
 */
@Injectable()
export class KnownFeatures {
  private readonly known = new LRUCache<string, ChatFeatures>({ max: MODELS_MAX, ttl: REMEMBERED_MS });

  constructor(private readonly repository: ChatFeaturesRepository) {}

  async of(model: string): Promise<ChatFeatures> {
    const remembered = this.known.get(model);
    if (remembered) return remembered;
    const learned = (await this.repository.find(model)) ?? ALL_FEATURES;
    this.known.set(model, learned);
    return learned;
  }

  /** Keeps what a request had that a model has just answered. That it cannot be written down costs a refusal more, and nothing else. */
  async learn(model: string, features: ChatFeatures): Promise<void> {
    this.known.set(model, features);
    try {
      await this.repository.save(model, features);
    } catch (error) {
      rootLogger.warn({ err: error, model }, 'what a judge takes was not kept');
    }
  }
}
