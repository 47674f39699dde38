import { Module } from '@nestjs/common';
import { EmbeddingRepository } from './embedding.repository';
import { QueryEmbedder } from './query.embedder';
import { RemoteEmbedder } from './remote.embedder';

const PROVIDERS = [EmbeddingRepository, QueryEmbedder, RemoteEmbedder];

/** Embeds queries and documents. */
@Module({ providers: PROVIDERS, exports: PROVIDERS })
export class EmbeddingsModule {}
