package zstd

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// pure is the Go library. It has only four levels, unlike the C library, and adds a checksum unless
// configured otherwise; the journal and Parquet files have their own.
type pure struct {
	mu       sync.Mutex
	encoders map[zstd.EncoderLevel]*zstd.Encoder
	decoder  *zstd.Decoder
}

func (p *pure) encoder(level zstd.EncoderLevel) (*zstd.Encoder, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if enc := p.encoders[level]; enc != nil {
		return enc, nil
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	if p.encoders == nil {
		p.encoders = map[zstd.EncoderLevel]*zstd.Encoder{}
	}
	p.encoders[level] = enc
	return enc, nil
}

func (p *pure) compress(dst, src []byte, level int) ([]byte, error) {
	enc, err := p.encoder(zstd.EncoderLevelFromZstd(level))
	if err != nil {
		return nil, err
	}
	return enc.EncodeAll(src, dst[:0]), nil
}

func (p *pure) decompressInto(dst, src []byte) (int, error) {
	p.mu.Lock()
	if p.decoder == nil {
		dec, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			p.mu.Unlock()
			return 0, err
		}
		p.decoder = dec
	}
	dec := p.decoder
	p.mu.Unlock()
	out, err := dec.DecodeAll(src, dst[:0:len(dst)])
	return len(out), err
}
