package aws

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/embedded"
)

// prefix begins the keys of what deployments upload. The rest is the SHA-256 of
// the content, so no deployment overwrites another's content, and a rollback finds
// what it needs. Somebody else with write access to the bucket can overwrite it.
const prefix = "slidegate/"

// bucket is where a deployment's files are.
type bucket struct {
	account *Account
	name    string
	owner   string // the account: no call may reach a bucket of somebody else
}

// errNoBucket is wrapped by the error about a bucket that does not exist.
var errNoBucket = errors.New("does not exist")

// check makes sure that the bucket exists, is the account's, and is in its region,
// from which alone Lambda reads code.
func (b bucket) check(ctx context.Context) error {
	answer, err := b.account.S3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.name, ExpectedBucketOwner: &b.owner})
	region := b.account.Region
	if err == nil && aws.ToString(answer.BucketRegion) != "" {
		region = *answer.BucketRegion
	}
	if moved, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && moved.HTTPStatusCode() == 301 {
		region = moved.Response.Header.Get("X-Amz-Bucket-Region")
	}
	switch {
	case region != b.account.Region:
		return fmt.Errorf("bucket %s is in region %s: name one in %s, because Lambda reads code from its own region alone", b.name, region, b.account.Region)
	case codeOf(err) == "NotFound", codeOf(err) == "NoSuchBucket":
		return fmt.Errorf("bucket %s %w in account %s", b.name, errNoBucket, b.owner)
	case err != nil:
		return fmt.Errorf("bucket %s, which has to belong to account %s: %w", b.name, b.owner, Explain(err))
	}
	return nil
}

// chooseBucket returns the bucket that is given; or the stack's, if earlier is
// set; or one of Slidegate's own, which it creates. It tells which one that is, if
// it was not given. CDK's bucket is none of them: `cdk gc` deletes from it what a
// rollback needs.
func (a *Account) chooseBucket(ctx context.Context, owner, given, earlier string, tell func(string, ...any)) (bucket, error) {
	own := fmt.Sprintf("slidegate-%s-%s", owner, a.Region)
	b := bucket{a, cmp.Or(given, earlier, own), owner}
	err := b.check(ctx)
	if given != "" {
		return b, err
	}
	if errors.Is(err, errNoBucket) && b.name != own {
		b.name = own
		err = b.check(ctx)
	}
	if errors.Is(err, errNoBucket) {
		if err = b.create(ctx); err == nil {
			tell("created bucket %s: private, encrypted, and for TLS alone", b.name)
		}
		return b, err
	}
	if err == nil {
		tell("using bucket %s", b.name)
	}
	return b, err
}

// create creates the bucket whole, or not at all.
func (b bucket) create(ctx context.Context) error {
	in := &s3.CreateBucketInput{Bucket: &b.name}
	if b.account.Region != "us-east-1" { // which is no constraint
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(b.account.Region)}
	}
	if _, err := b.account.S3.CreateBucket(ctx, in); err != nil {
		return fmt.Errorf("create bucket %s: %w", b.name, Explain(err))
	}
	err := b.protect(ctx)
	if err == nil {
		return nil
	}
	// The bucket is empty. It must go also after an interrupt.
	_, left := b.account.S3.DeleteBucket(context.WithoutCancel(ctx), &s3.DeleteBucketInput{Bucket: &b.name, ExpectedBucketOwner: &b.owner})
	if left != nil {
		return fmt.Errorf("bucket %s is new and not protected: delete it: %w", b.name, Explain(err))
	}
	return fmt.Errorf("protect bucket %s, which is deleted again: %w", b.name, Explain(err))
}

// protect requires TLS. S3 itself blocks public access to a new bucket, and
// encrypts its objects.
func (b bucket) protect(ctx context.Context) error {
	text := strings.NewReplacer("ARN", "arn:"+partitionOf(b.account.Region)+":s3:::"+b.name).Replace(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":["ARN","ARN/*"],` +
			`"Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`)
	_, err := b.account.S3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &b.name, ExpectedBucketOwner: &b.owner, Policy: &text})
	return err
}

// upload puts a file into the bucket under the hash of its content, unless it is
// there. It refuses another object under that name.
func (b bucket) upload(ctx context.Context, f file, tell func(string, ...any)) (key, hash string, err error) {
	sum := sha256.Sum256(f.data)
	hash = hex.EncodeToString(sum[:])
	key = prefix + hash + f.ext
	has, err := b.hashOf(ctx, key)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("read s3://%s/%s, to compare it with %s: %w", b.name, key, f.name, Explain(err))
	case has == hash:
		return key, hash, nil
	case has != "":
		return "", "", fmt.Errorf("s3://%s/%s is not %s: its SHA-256 is %s, and that of the file is %s; somebody with write access to the bucket put it there: "+
			"find out who, delete the object, and deploy again", b.name, key, f.name, has, hash)
	}
	_, err = b.account.S3.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.name, Key: &key, ExpectedBucketOwner: &b.owner,
		Body: bytes.NewReader(f.data), ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum[:]))})
	if err != nil {
		return "", "", fmt.Errorf("upload %s to bucket %s: %w", f.name, b.name, Explain(err))
	}
	tell("uploaded %s", f.name)
	return key, hash, nil
}

// hashOf returns the SHA-256 of an object in hex. It returns "" if S3 shows no such
// object: what may be there instead, upload overwrites. S3 itself computes the
// checksum of an object. It has none of the whole object if the upload was in parts
// or asked for another kind; then hashOf reads the object.
func (b bucket) hashOf(ctx context.Context, key string) (string, error) {
	object, err := b.account.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key, ExpectedBucketOwner: &b.owner, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return "", nil
	}
	defer object.Body.Close()
	if hash := hexOf(object.ChecksumSHA256); hash != "" {
		return hash, nil
	}
	sum := sha256.New()
	_, err = io.Copy(sum, object.Body)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// hexOf returns in hex what AWS states in base64; "" for nothing, and for the
// checksum of an upload in parts, which ends in their number.
func hexOf(sum *string) string {
	data, err := base64.StdEncoding.DecodeString(aws.ToString(sum))
	if err != nil {
		return ""
	}
	return hex.EncodeToString(data)
}

// file is what a deployment uploads.
type file struct {
	name string // for people
	ext  string // of its key
	data []byte
}

// zipName is the name of a Lambda's code, as releases and `make zips` have it.
var zipName = regexp.MustCompile(`^(authorizer|operations)_(arm64|amd64)\.zip$`)

// readCode returns the zips of the two Lambdas: those given as files, or else
// the zips that the command carries.
func readCode(given []string, goarch string) (authorizer, operations file, err error) {
	found := map[string]file{}
	for _, path := range given {
		match := zipName.FindStringSubmatch(filepath.Base(path))
		if match == nil {
			return authorizer, operations, fmt.Errorf("--code %s: want the name that releases have, such as authorizer_%s.zip or operations_%[2]s.zip", path, goarch)
		}
		if match[2] != goarch {
			return authorizer, operations, fmt.Errorf("--code %s: the stack's Lambdas are for %s: give that code, or another --architecture", path, goarch)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return authorizer, operations, fmt.Errorf("--code: %w", err)
		}
		found[match[1]] = file{path, ".zip", data}
	}
	for _, name := range []string{"authorizer", "operations"} {
		if _, ok := found[name]; !ok {
			data, err := embedded.Zip(name, goarch)
			if err != nil {
				return authorizer, operations, err
			}
			found[name] = file{name + "_" + goarch + ".zip", ".zip", data}
		}
		if err := checkZip(found[name]); err != nil {
			return authorizer, operations, err
		}
	}
	return found["authorizer"], found["operations"], nil
}

// checkZip refuses what Lambda would take and could not run.
func checkZip(f file) error {
	r, err := zip.NewReader(bytes.NewReader(f.data), int64(len(f.data)))
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if !slices.ContainsFunc(r.File, func(f *zip.File) bool { return f.Name == "bootstrap" }) {
		return fmt.Errorf("%s has no file bootstrap: it is not the code of a Lambda", f.name)
	}
	return nil
}

// template is the CloudFormation template of a limiter.
type template struct {
	text       string
	Parameters map[string]struct{}
	Outputs    map[string]struct{ Value any }
}

// maxTemplate is how long a template may be, in bytes, that is sent with the call.
const maxTemplate = 51_200

// Template returns the template in a file, or the one that the command carries if
// path is empty, and the version of its release.
func Template(path string) (text, version string, err error) {
	t, err := readTemplate(path)
	return t.text, t.version(), err
}

// readTemplate returns the template in a file, or the one that the command
// carries if path is empty.
func readTemplate(path string) (t template, err error) {
	var data []byte
	if path == "" {
		path = "the template of this command"
		data, err = embedded.Template()
	} else {
		data, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("--template: %w", err)
	}
	if err != nil {
		return t, err
	}
	var short bytes.Buffer
	if err := json.Compact(&short, data); err != nil {
		return t, fmt.Errorf("%s is not JSON: %w", path, err)
	}
	if short.Len() > maxTemplate {
		return t, fmt.Errorf("%s has %d bytes without spaces; AWS takes at most %d", path, short.Len(), maxTemplate)
	}
	t.text = short.String()
	if err := json.Unmarshal(data, &t); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	if t.version() == "" {
		return t, fmt.Errorf("%s has no output %s: it is not the template of a limiter", path, versionOutput)
	}
	return t, nil
}

// version returns the version of the command's release; "" for another template.
func (t *template) version() string {
	version, _ := t.Outputs[versionOutput].Value.(string)
	return version
}
