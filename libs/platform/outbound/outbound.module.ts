import { Module } from '@nestjs/common';
import { Environment } from '#platform/config';
import { OutboundHttp } from './outbound-http';

@Module({
  providers: [
    {
      provide: OutboundHttp,
      inject: [Environment],
      useFactory: ({ OUTBOUND_ALLOW }: Environment) => new OutboundHttp(OUTBOUND_ALLOW),
    },
  ],
  exports: [OutboundHttp],
})
export class OutboundModule {}
